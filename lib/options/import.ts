import { flag, list, text } from "./kinds.ts";
import { group, guarded, type Values } from "./option.ts";

const SHAPES = ["github", "gitlab", "gitea"] as const;

function sourceHostOf(text: string): { shape: (typeof SHAPES)[number]; origin: string } {
  const [given, ...rest] = text.split("=");
  const shape = SHAPES.find((known) => known === given);
  const url = URL.parse(rest.join("="));
  if (shape !== undefined && url?.protocol === "https:") return { shape, origin: url.origin };
  throw new Error(`is github=, gitlab= or gitea= and an https URL, not ${JSON.stringify(text)}`);
}

/** Options of `hub serve` for imports from source hosts. */
export const importing = group("Server", {
  importHost: guarded(
    list(
      {
        metavar: "SHAPE=URL",
        help: "Import archives from here, not from the usual hosts",
        defaultText: "github.com, gitlab.com, codeberg.org",
      },
      sourceHostOf,
    ),
  ),
});

/** Returns the hub's settings from these options. */
export const importingOf = ({ importHost }: Values<typeof importing>) =>
  importHost.length > 0 ? { sourceHosts: importHost } : {};

/** The option of publishing that has the hub fetch the archive. */
export const fetching = { import: flag({ help: "Have the hub fetch the archive of --repo" }) };

/** The place that the hub fetches it from. */
export const fetchingFrom = {
  host: text({ metavar: "HOST", help: "Source host of --import", defaultText: "the hub's first one" }),
};
