name = input("Name? ")
age = int(input("Age? "))
print(f"Hello {name}, in ten years you will be {age + 10}.")
while True:
    try:
        command = input("> ")
    except EOFError:
        print("bye")
        break
    print("you said", command.upper())
