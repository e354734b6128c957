import { expect, test } from "bun:test";
import { installProgress } from "../../src/python/install-progress.ts";

test.each([
  ["Collecting requests==2.32.3 (from -r requirements.txt (line 1))", "installing requests 2.32.3"],
  ["Collecting charset-normalizer<4,>=2 (from requests==2.32.3->-r requirements.txt (line 1))", "installing charset-normalizer"],
  ["  Downloading requests-2.32.3-py3-none-any.whl (64 kB)", "downloading requests 2.32.3 (64 kB)"],
  ["  Downloading idna-3.20-py3-none-any.whl.metadata (11 kB)", "downloading idna 3.20 (11 kB)"],
  ["  Using cached docopt-0.6.2.tar.gz (25 kB)", "downloading docopt 0.6.2 (25 kB)"],
  ["Downloading https://example.com/w/typing_extensions-4.12.2-py3-none-any.whl (37 kB)", "downloading typing_extensions 4.12.2 (37 kB)"],
  ["  Building wheel for docopt (pyproject.toml): started", "building docopt"],
  ["Installing collected packages: urllib3, idna", "installing collected packages: urllib3, idna"],
  ["Successfully installed idna-3.20 requests-2.32.3", "successfully installed idna-3.20 requests-2.32.3"],
  ["Resolved 5 packages in 289ms", "resolved 5 packages in 289ms"],
  ["Downloading numpy (16.1MiB)", "downloading numpy (16.1MiB)"],
  ["   Building docopt==0.6.2", "building docopt 0.6.2"],
  [" + requests==2.32.3", "installed requests 2.32.3"],
  ["WARNING: the cache is off", "WARNING: the cache is off"],
])("%s", (line, said) => {
  expect(installProgress(line)).toBe(said);
});

test.each([
  "$ /home/ada/.svc/venvs/1/bin/python -I -m pip install --no-input -r requirements.txt",
  "Looking in links: /opt/wheels",
  "     ━━━━━━━━━━━━━━━━━━━━━━ 64.9/64.9 kB 117.6 MB/s eta 0:00:00",
  "  Preparing metadata (pyproject.toml): started",
  "Using Python 3.11.7 environment at: /home/ada/.svc/venvs/1",
  "",
])("nothing for people: %s", (line) => {
  expect(installProgress(line)).toBeUndefined();
});
