from jinja2 import Template, Environment, StrictUndefined, UndefinedError
t = Template("""Hello {{ user.name|title }}!
{% for item in items if item.price > 1 -%}
{{ loop.index }}. {{ item.name }}{{ " (sale)" if item.sale }} {{ "%.2f"|format(item.price) }}
{% else -%}
nothing
{% endfor %}Total: {{ items|sum(attribute="price") }}""")
print(t.render(user={"name": "ada lovelace"}, items=[{"name": "tea", "price": 4, "sale": True}, {"name": "gum", "price": 0.5}, {"name": "pot", "price": 12.5}]))
env = Environment(undefined=StrictUndefined, autoescape=True)
print(env.from_string("<b>{{ x }}</b>").render(x="<script>"))
try:
    env.from_string("{{ missing }}").render()
except UndefinedError as e:
    print(e)
