import { Command, Option } from "clipanion";
import { logout } from "../../lib/options/login.ts";
import { withOptions } from "../shell/base.ts";
import { showList } from "../shell/output/listing.ts";

const load = () => import("../../lib/options/contexts.ts");

export class ContextList extends withOptions({}) {
  static override paths = [["context", "list"]];
  static override listed = () => ["name", "hub_url", "current"];
  static override usage = Command.Usage({
    category: "Hub",
    description: "List the hubs that you have logged in to",
    examples: [["All of them", "$0 context list"]],
  });

  override async run(): Promise<number> {
    const { readContexts } = await load();
    const { current, contexts } = readContexts();
    const rows = Object.entries(contexts).map(([name, { hub_url }]) => ({ name, hub_url, current: name === current }));
    return showList(this.surroundings(), {
      event: "context",
      rows,
      columns: {
        "": (row) => (row.current ? "*" : " "),
        CONTEXT: ({ name }) => name,
        HUB: ({ hub_url }) => hub_url,
      },
      none: "None yet: `sealift login URL` makes one.",
    });
  }
}

export class ContextUse extends withOptions({}) {
  static override paths = [["context", "use"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Choose the hub that commands use",
    examples: [["Another one", "$0 context use production"]],
  });

  name = Option.String({ name: "CONTEXT", required: true });

  override async run(): Promise<number> {
    const { contextNamed, readContexts, writeContexts } = await load();
    const stored = readContexts();
    const { hub_url: hubUrl } = contextNamed(stored, this.name);
    await writeContexts({ ...stored, current: this.name });
    this.note(`Commands use ${hubUrl} from now on.`);
    return this.done({ context: this.name, hub_url: hubUrl });
  }
}

export class ContextShow extends withOptions({}) {
  static override paths = [["context", "show"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Show the hub that commands use",
    examples: [["For a script", "$0 context show --json"]],
  });

  name = Option.String({ name: "CONTEXT", required: false });

  override async run(): Promise<number> {
    const { contextNamed, contextsFile, readContexts } = await load();
    const stored = readContexts();
    const name = this.name ?? stored.current;
    if (name === null) {
      this.note("No context is in use: `sealift login URL` makes one.");
      return this.done({ context: null });
    }
    const { hub_url: hubUrl, api_key: key } = contextNamed(stored, name);
    // Enough to recognize the key by, as `key list` shows it.
    const prefix = key.slice(0, 8);
    if (!this.json) this.print.line(`${name}  ${hubUrl}  key ${prefix}…  ${contextsFile()}`);
    return this.done({ context: name, hub_url: hubUrl, key_prefix: prefix });
  }
}

export class Logout extends withOptions(logout) {
  static override paths = [["logout"]];
  static override usage = Command.Usage({
    category: "Hub",
    description: "Forget a hub and your API key for it",
    details: "The key itself goes on working: `sealift key revoke` ends it.",
    examples: [["The one in use", "$0 logout"]],
  });

  name = Option.String({ name: "CONTEXT", required: false });

  override async run(): Promise<number> {
    const { contextNamed, readContexts, writeContexts } = await load();
    const stored = readContexts();
    const name = this.name ?? stored.current;
    if (name === null) {
      this.note("No context is in use.");
      return this.done({ context: null });
    }
    const { hub_url: hubUrl } = contextNamed(stored, name);
    const { dryRun } = this.options;
    if (dryRun) {
      this.note(`would forget the context ${name} and its key for ${hubUrl}`);
      return this.done({ context: name, dry_run: dryRun });
    }
    const { [name]: _gone, ...contexts } = stored.contexts;
    await writeContexts({ v: 1, current: stored.current === name ? null : stored.current, contexts });
    this.note(`Forgot the context ${name}.`);
    return this.done({ context: name, dry_run: dryRun });
  }
}
