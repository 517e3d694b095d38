"""Takes card numbers out of what the agent's program gets to see."""

import json
import re
import sys

event = json.load(sys.stdin)
text = json.dumps(event["data"]["result"])
clean = re.sub(r"\d{4}-\d{4}-\d{4}-(\d{4})", r"****-****-****-\1", text)
print(json.dumps({"decision": "mutate", "patch": {"result": json.loads(clean)}}))
