import t from "tap";
import { joinLine } from "../../../lib/contract/joining/token.ts";
import { signerHex } from "../../support/hub/joining.ts";
import { commandLine } from "../../support/programs/command-line.ts";

/** A token in the arguments: every user of the machine reads it in the list of processes. */

const TOKEN = joinLine(`sjt_${"t".repeat(43)}`, [signerHex()]);

for (const given of [[TOKEN], ["--token", TOKEN], [`--token=${TOKEN}`], ["--yes", "--", TOKEN]])
  t.test(
    `${given.slice(0, -1).join(" ") || "an argument"} is refused with the ways that nobody else sees`,
    async (t) => {
      const { code, stdout, stderr } = await commandLine(["join", "https://hub.example.org", ...given], {
        env: { PATH: process.env.PATH, XDG_CONFIG_HOME: "/nowhere" },
      });
      t.equal(code, 2);
      const said = stderr.replaceAll(/\s+/g, " ");
      t.match(said, "A secret stands in the arguments, which other users of this machine can see.");
      t.match(said, "Give it as --token-file PATH (- is standard input), or in the environment.");
      t.notMatch(stdout + stderr, "tttt", "and it is not repeated");
    },
  );
