print("working")
data = {"a": 1}
data["b"]
