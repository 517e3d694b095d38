"""Read YAML, render a report with Jinja2, tabulate, and parse HTML with BeautifulSoup."""
import yaml
from bs4 import BeautifulSoup
from jinja2 import Environment, StrictUndefined, UndefinedError
from tabulate import tabulate

data = yaml.safe_load("""
team: Rockets
founded: 2001-05-06
players:
  - {name: Ann, goals: 12, tags: [captain, left]}
  - name: Bob
    goals: 7
  - name: Cid
    goals: 0
    note: |
      new
      player
defaults: &d {size: 5, ok: true}
extended:
  <<: *d
  size: 7
empty:
""")
print(data["founded"].isoformat(), data["players"][2]["note"].splitlines(), data["extended"], data["empty"])
env = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, autoescape=True)
env.filters["stars"] = lambda n: "*" * n
template = env.from_string("""
<h1>{{ team | upper }}</h1>
<ul>
{% for p in players | sort(attribute="goals", reverse=true) if p.goals > 0 %}
  <li class="{{ loop.cycle('odd', 'even') }}">{{ loop.index }}. {{ p.name }} {{ p.goals | stars }}{% if p.tags is defined %} ({{ p.tags | join(', ') }}){% endif %}</li>
{% else %}
  <li>nothing</li>
{% endfor %}
</ul>
{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}
{{ bold("<i>" ~ players | map(attribute="goals") | sum ~ "</i>") }}
{% set total = players | length %}{{ "many" if total > 2 else "few" }}
""")
html = template.render(**data)
print(html.strip())
soup = BeautifulSoup(html, "html.parser")
print(soup.h1.text, [li["class"] for li in soup.find_all("li")], soup.select("li.even")[0].get_text(strip=True), soup.b.string)
try:
    env.from_string("{{ nope.x }}").render()
except UndefinedError as e:
    print("undefined:", e)
print(tabulate([(p["name"], p["goals"]) for p in data["players"]], headers=["name", "goals"], tablefmt="github"))
print(yaml.safe_dump({"b": [1, {"x": None}], "a": "multi\nline", "t": True, "s": "yes"}, sort_keys=True))
try:
    yaml.safe_load("a: [1, 2")
except yaml.YAMLError as e:
    print(type(e).__name__, e.problem_mark.line)
