// Only in test:all: somebody types at a terminal, which .ci/run does as an ordinary user.
// In a process of its own: it changes the environment that terminals are started with.
import t from "tap";
import { needs } from "../support/programs/optional.ts";
import { Terminal } from "../support/programs/terminal.ts";

for (const shell of ["/bin/sh", "/bin/bash", "/usr/sbin/nologin"]) {
  t.test(
    `the exit code after Ctrl-C is shown to a user whose shell is ${shell}`,
    { skip: needs("tmux") },
    async (t) => {
      const { SHELL } = process.env;
      t.teardown(() => (SHELL === undefined ? delete process.env["SHELL"] : (process.env["SHELL"] = SHELL)));
      process.env["SHELL"] = shell;
      const program = `process.on("SIGINT", () => process.exit(130)); setInterval(() => {}, 60_000); console.log("waits");`;
      await using terminal = await Terminal.run([process.execPath, "--eval", program]);
      await terminal.shows(/waits/);
      await terminal.press("C-c");
      t.match(await terminal.shows(/exit \d+/), /exit 130/);
    },
  );
}
