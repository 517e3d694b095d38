"""Makes a small repository and reports on its history through subprocess."""
import collections, os, subprocess

env = {**os.environ, "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "a@b.c",
       "GIT_AUTHOR_DATE": "2024-05-06T07:08:09Z", "GIT_COMMITTER_DATE": "2024-05-06T07:08:09Z", "HOME": os.getcwd()}


def git(*args, check=True):
    return subprocess.run(["git", *args], capture_output=True, text=True, check=check, env=env, cwd="repo").stdout


os.mkdir("repo")
git("init", "-q", "-b", "main")
for number in range(5):
    with open(f"repo/file{number % 2}.txt", "a") as file:
        file.write(f"line {number}\n")
    git("add", "-A")
    git("commit", "-q", "-m", f"step {number}")
touched = collections.Counter()
for line in git("log", "--format=commit %h %s", "--name-only").splitlines():
    if line.startswith("commit "):
        print(line)
    elif line:
        touched[line] += 1
print(touched)
print(git("diff", "--numstat", "HEAD~3", "HEAD"))
try:
    git("checkout", "missing")
except subprocess.CalledProcessError as error:
    print(error.returncode, error.stderr.strip())
