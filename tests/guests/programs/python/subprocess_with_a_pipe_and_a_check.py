import subprocess
done = subprocess.run(["echo", "hello world"], capture_output=True, text=True)
print(done.returncode, repr(done.stdout))
print(subprocess.check_output("printf 'b\\na\\nc\\n' | sort", shell=True, text=True).split())
print(subprocess.run("exit 3", shell=True).returncode)
try:
    subprocess.run(["false"], check=True)
except subprocess.CalledProcessError as e:
    print("failed with", e.returncode)
up = subprocess.run(["tr", "a-z", "A-Z"], input="shout", text=True, stdout=subprocess.PIPE)
print(up.stdout)
try:
    subprocess.run(["no-such-command-xyz"])
except FileNotFoundError as e:
    print("not found:", e.filename)
