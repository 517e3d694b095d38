import sys
print("before")
if len(sys.argv) >= 0:
    sys.exit(3)
print("never")
