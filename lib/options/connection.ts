import { duration, list, path, text, url } from "./kinds.ts";
import { group, guarded, type Known, optional, required, requiredWhen } from "./option.ts";
import { token } from "./secrets.ts";

/** Options of commands that talk to a hub. */
export const connection = group("Hub", {
  hubUrl: required(guarded(url({ help: "Root of the hub" }))),
  apiKey: required(token({ metavar: "KEY", help: "API key" })),
  timeoutMs: duration({
    name: "timeout",
    help: "Longest silence of the hub, not of a whole transfer",
    defaultText: "30s, 60s on the marketplace",
    minMs: 1,
  }),
});

/** Tells whether a publication identifies itself by its CI run, without an API key. */
export const isByRun = ({ oidc }: Known): boolean => oidc === true;

/** Hub for commands that work without one, and ask that of the login where none is given. */
export const hubIfKnown = requiredWhen(connection.hubUrl, () => "if given");

/** Hub for commands that need none, but report to the one given. */
export const reporting = { hubUrl: optional(connection.hubUrl), apiKey: optional(connection.apiKey) };

/** Connection to the hub. These options apply to the process, not to one target. */
export const network = group("Hub", {
  context: guarded(text({ metavar: "NAME", help: "Hub of `sealift login` to use", defaultText: "the one in use" })),
  caFile: guarded(path({ help: "Certificates to trust, beside the system's (PEM)" })),
});

const mirrorRoot = url({ help: "" });
/** Parses the root URL of a mirror. @throws Error whose message continues "--mirror …" */
const mirrorOf = (given: string): string => mirrorRoot.parse(given)!;

/** Caches of the hub's bytes, tried in order. */
export const mirrors = guarded(
  list({ metavar: "URL", help: "Mirror to ask for bytes before the hub; may be repeated" }, mirrorOf),
);
