// Only in test:all: three hosts of 0.2.0 go on with this version, and what waited on them is deployed.
// Holds: what released versions wrote is read: applications, grants, holds and trust roots (lib/releases/holds.ts)
import { chmodSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import t, { type Test } from "tap";
import { programAt } from "../../lib/agent/applications/programs.ts";
import { type Past, unpackPast } from "../support/past/fixture.ts";
import { builtProgram } from "../support/programs/command-line.ts";
import { needs } from "../support/programs/optional.ts";

// Hosts start an application by the Node.js of the machine.
const lacksNode = (await programAt("node")) === undefined && "needs node in /usr/bin";
const skip = needs("tar") || lacksNode;
const isRoot = process.getuid?.() === 0;

/** Hosts of 0.2.0 at their hub, which this version serves. */
class Hosts {
  readonly past: Past;
  readonly target: string;

  private constructor(past: Past) {
    this.past = past;
    this.target = `project:${past.shop!.id}`;
  }

  static async at(t: Test): Promise<Hosts> {
    const past = await unpackPast(t, "0.2.0");
    // Its applications are nobody's, who has to find them.
    chmodSync(past.path(), 0o755);
    const hosts = new Hosts(past);
    if (!isRoot)
      for (const host of ["shop-1", "shop-2", "shop-3"])
        await hosts.change(host, "applications.yaml", "user: nobody", "same_user: true");
    await past.serve();
    return hosts;
  }

  /** Replaces a text in a file of a root. */
  async change(host: string, file: string, from: string, to: string): Promise<void> {
    const path = this.past.path("roots", host, file);
    await writeFile(path, (await readFile(path, "utf8")).replace(from, to));
  }

  /** Runs `sealift` to its end. @returns its exit code, its events, and the last of them */
  async ended(...words: string[]) {
    const env = { PATH: process.env["PATH"], ...this.past.clock };
    const { code, stdout } = await builtProgram([...words, "--json"], { cwd: this.past.path(), env });
    const events = stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    return { code, events, result: events.at(-1)! };
  }

  place = (host: string): string[] => ["--project-root", this.past.path("roots", host)];
  look = (host: string) => this.ended("watch", "--config", this.past.path("hosts", host, "watch.yaml"), "--once");
  serve = (host: string): Promise<string> =>
    this.past.programs.serve("sealift", ["app", "serve", ...this.place(host)], this.past.clock);

  async running(host: string): Promise<string> {
    const file = `.sealift/current/project-${this.past.shop!.id}/release.json`;
    return (JSON.parse(await readFile(this.past.path("roots", host, file), "utf8")) as { version: string }).version;
  }

  /** Asks the application of `shop-1`. */
  async answer(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.past.shop!.port}/`)).text();
  }
}

t.test("hosts of 0.2.0 with applications", { skip }, async (t) => {
  const hosts = await Hosts.at(t);
  const { target, past } = hosts;

  await t.test("status reads what each of them waits for, and the trust root that they follow", async (t) => {
    const told = {
      "shop-1": { paused: true, unhealthy: { message: /503/ } },
      "shop-2": { paused: false, unhealthy: null },
      "shop-3": { held_rights: { version: "1.2.0", rights: ["till: network: till.example:443"] } },
    };
    for (const [host, expected] of Object.entries(told)) {
      const { events } = await hosts.ended("status", ...hosts.place(host));
      t.match(events[0], { target, running_version: "1.1.0", trust_root: { version: 2 }, ...expected });
    }
    const { events } = await hosts.look("shop-2");
    const held = events.find(({ event }) => event === "target.held");
    t.match(held, { version: "1.2.0", reason: "application" });
  });

  await t.test("app serve runs the application as it was granted, with its settings and its data", async (t) => {
    await hosts.serve("shop-1");
    t.equal(await hosts.answer(), "1.1.0 ahoy");
    const migrated = past.path("roots/shop-1/.sealift/data/apps/web/migrated");
    t.match(await readFile(migrated, "utf8"), /^1\.0\.0\n[^]*1\.1\.0\n$/);
  });

  await t.test(
    "a paused host stays; resumed and without its policy, it asks for the grant that is missing",
    async (t) => {
      t.match((await hosts.look("shop-1")).result, { targets: [{ outcome: "held" }] });
      for (const word of ["resume", "retry"]) await hosts.ended("watch", word, target, ...hosts.place("shop-1"));
      await writeFile(past.path("hosts/shop-1/policy.yaml"), "min_age: 0s\n");
      const { events } = await hosts.look("shop-1");
      t.match(
        events.findLast(({ event }) => event === "target.held"),
        { version: "1.2.0", reason: "application" },
      );
      t.equal(await hosts.running("shop-1"), "1.1.0");
    },
  );

  await t.test("a grant lets a version in that waited, and a rollback goes back to a release of 0.2.0", async (t) => {
    const user = isRoot ? ["--user", "nobody"] : ["--same-user"];
    await hosts.ended("app", "allow", "worker", ...user, ...hosts.place("shop-1"));
    t.match(await hosts.look("shop-1"), { code: 0 });
    t.equal(await hosts.running("shop-1"), "1.2.0");
    t.equal(await hosts.answer(), "1.2.0 ahoy");
    t.match(await hosts.ended("rollback", target, "--to", "1.0.0", ...hosts.place("shop-1")), { code: 0 });
    t.equal(await hosts.answer(), "1.0.0 ahoy");
  });

  await t.test("consent lets in what asks for more rights, once its applications may run", async (t) => {
    t.match(await hosts.look("shop-3"), { result: { targets: [{ outcome: "held" }] } });
    await hosts.ended("watch", "consent", target, ...hosts.place("shop-3"));
    const { events } = await hosts.look("shop-3");
    t.match(
      events.findLast(({ event }) => event === "target.held"),
      { version: "1.2.0", reason: "application" },
    );
  });

  await t.test("hosts follow the next version of their root", async (t) => {
    const key = (name: string, half: string): string => past.path("keys", name, `signer.${half}`);
    const [root, next] = [past.path("keys/2.root.json"), past.path("keys/3.root.json")];
    const trust = (...words: string[]) => past.programs.run("sealift", ["trust", ...words], past.admin);
    await trust("change", root, "--remove-signer", key("laptop", "pub"));
    for (const name of ["anna", "carol"]) await trust("sign", next, "--base", root, "--key", key(name, "key"));
    await trust("publish", next, past.shop!.id);
    const { events } = await hosts.look("shop-2");
    t.match(
      events.find(({ event }) => event === "trust.followed"),
      { version: 3 },
    );
    t.match((await hosts.ended("status", ...hosts.place("shop-2"))).events[0], { trust_root: { version: 3 } });
  });
});
