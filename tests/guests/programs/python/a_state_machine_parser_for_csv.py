def parse_csv(text, sep=","):
    rows, row, field, state = [], [], "", "start"
    for ch in text:
        if state in ("start", "plain"):
            if ch == '"' and state == "start": state = "quoted"
            elif ch == sep: row.append(field); field, state = "", "start"
            elif ch == "\n": row.append(field); rows.append(row); row, field, state = [], "", "start"
            else: field += ch; state = "plain"
        elif state == "quoted":
            if ch == '"': state = "quote"
            else: field += ch
        elif state == "quote":
            if ch == '"': field += '"'; state = "quoted"
            elif ch == sep: row.append(field); field, state = "", "start"
            elif ch == "\n": row.append(field); rows.append(row); row, field, state = [], "", "start"
    if field or row: row.append(field); rows.append(row)
    return rows

import csv, io
text = 'a,"b,c","say ""hi"""\n1,,"multi\nline"\nlast,2,3'
print(parse_csv(text))
print(parse_csv(text) == list(csv.reader(io.StringIO(text))))
