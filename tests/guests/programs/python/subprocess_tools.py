"""Use subprocess and os to run commands, pipe data, and check exit statuses."""
import os
import subprocess
import sys

done = subprocess.run(["echo", "hello", "from", "a child"], capture_output=True, text=True)
print(repr(done.stdout), done.returncode)
print(subprocess.check_output("printf '3\\n1\\n2\\n' | sort -n | tr '\\n' ' '", shell=True, text=True))
done = subprocess.run(["grep", "-c", "a"], input="apple\nbanana\ncherry\n", capture_output=True, text=True)
print("grep counted", done.stdout.strip())
try:
    subprocess.run(["ls", "/no/such/place"], check=True, capture_output=True)
except subprocess.CalledProcessError as e:
    print("failed with", e.returncode, b"no/such" in e.stderr)
print(subprocess.run([sys.executable, "-c", "import sys; print(sum(map(int, sys.stdin.read().split())))"], input="1 2 3", text=True, capture_output=True).stdout.strip())
print(subprocess.call("exit 3", shell=True))
env = dict(os.environ, GREETING="hi there")
print(subprocess.run("echo $GREETING", shell=True, env=env, capture_output=True, text=True).stdout.strip())
with subprocess.Popen(["sed", "s/o/0/g"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
    out, _ = p.communicate("foo boo\n")
    print(out.strip(), p.returncode)
os.makedirs("work", exist_ok=True)
subprocess.run(["sh", "-c", "pwd > where.txt; echo 'x=1' > .env"], cwd="work", check=True)
print(os.path.basename(open("work/where.txt").read().strip()), sorted(os.listdir("work")))
print(os.popen("echo one; echo two").read().split())
status = os.system("test -f work/where.txt")
print("test says", status)
try:
    subprocess.run(["definitely-not-a-command"])
except FileNotFoundError as e:
    print("not found:", e.filename)
first = subprocess.Popen(["printf", "b\\na\\n"], stdout=subprocess.PIPE)
second = subprocess.Popen(["sort"], stdin=first.stdout, stdout=subprocess.PIPE, text=True)
first.stdout.close()
print(second.communicate()[0].split())
print(subprocess.getoutput("echo out; echo err >&2"))
print(subprocess.getstatusoutput("false"))
