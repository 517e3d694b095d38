import re
text = "Order #123 on 2024-01-05: $45.00; order #77 on 2023-12-31: $1,200.50"
print(re.findall(r"#(\d+).*?(\d{4})-(\d\d)-(\d\d).*?\$([\d,.]+)", text))
print(re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text))
print(re.sub(r"\$([\d,]+\.\d\d)", lambda m: f"€{float(m[1].replace(',', '')) * 0.9:.2f}", text))
print(re.split(r"[;:,]\s*", text))
print(re.search(r"(?i)ORDER\s+#(?P<id>\d+)", text).groupdict(), re.fullmatch(r"(a+)(b?)", "aaa").groups())
print(re.findall(r"(?<!\w)[a-z]{2}(?!\w)", text), re.sub(r"(.)\1+", r"\1", "bookkeeper aaargh"))
print(re.compile(r"""
    (\d+)   # number
    \s*
    (kg|g)  # unit
""", re.X).findall("5kg 10 g 7lb"))
