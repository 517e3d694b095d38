import yaml
doc = yaml.safe_load("""
name: demo
version: 1.2
services:
  web: {image: nginx, ports: [80, 443]}
  db:
    image: postgres
    env: &env
      USER: admin
  cache:
    env: *env
enabled: yes
when: 2024-05-01
text: |
  two
  lines
""")
print(doc["services"]["cache"]["env"], doc["enabled"], doc["when"], repr(doc["text"]))
print(yaml.safe_dump({"b": [1, 2, {"c": None}], "a": "x: y"}, sort_keys=True))
try:
    yaml.safe_load("a: [1, 2")
except yaml.YAMLError as e:
    print(type(e).__name__)
