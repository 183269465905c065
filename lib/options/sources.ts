import { choice, flag, list, path, several, text } from "./kinds.ts";
import { group, guarded, optional, required, requiredWhen } from "./option.ts";
import { secret, token } from "./secrets.ts";

/** Options of the two sources of deployments: a project, and the marketplace. */

const signingSecret = secret({ metavar: "SECRET", help: "The developer's signing secret" });

/** Parses `HOST=TOKEN`. @throws Error whose message continues "--git-token …" */
function gitTokenOf(given: string): readonly [host: string, token: string] {
  const [, host, token] = /^([A-Za-z0-9.-]+(?::\d+)?)=(.+)$/.exec(given) ?? [];
  if (host === undefined || token === undefined) throw new Error("takes HOST=TOKEN, such as git.example.org=…");
  return [host.toLowerCase(), token];
}

/** Parses the URL of a folder. @throws Error whose message continues "--root-source …" */
function webFolder(given: string): string {
  if (/^https?:$/.test(URL.parse(given)?.protocol ?? "")) return given;
  throw new Error(`is an http or https URL, not ${JSON.stringify(given)}`);
}

const signerPublicKey = guarded(
  several({ metavar: "KEY", help: "A publisher's public key: file, hex or base64; repeatable", orText: true }),
);
const roots = {
  root: guarded(path({ metavar: "FILE|follow", help: "Trust root to follow: a file, or the hub's", orText: true })),
  rootSources: guarded(
    list({ flag: "--root-source", metavar: "URL", help: "Folder with N.root.json to ask, too; repeatable" }, webFolder),
  ),
};
const trustOnFirstUse = flag({ help: "Trust the first deployment's signer, and no other afterwards" });

/** Options that say whose signature a kept release must have. */
export const acceptedSigners = group("Signer", {
  signerPublicKey: optional(signerPublicKey),
  root: roots.root,
  trustOnFirstUse,
});

/** Options of deployments from a project. */
export const projectSource = group("Project", {
  deploymentCredential: required(token({ metavar: "CREDENTIAL", help: "Deployment credential" })),
  signerPublicKey: requiredWhen(
    signerPublicKey,
    ({ trustOnFirstUse, root }) =>
      trustOnFirstUse === true || (root !== undefined && root !== "follow") ? "if given" : true,
    "Give the publisher's signer.pub, or --trust-on-first-use to trust the signer of the first deployment.",
  ),
  ...roots,
  delta: flag({ help: "Fetch the full artifact even where a delta would do", default: true }),
  trustOnFirstUse,
  signingSecret: { ...signingSecret, help: "For plugins from the marketplace" },
  gitToken: list(
    { metavar: "HOST=TOKEN", help: "For plugins of a source host; may be repeated", secret: true },
    gitTokenOf,
  ),
});

/** Options of deployments from the marketplace. */
export const marketplaceSource = group("Marketplace", {
  signingSecret: required(signingSecret),
  signerPublicKey: optional(signerPublicKey),
  ...roots,
  trustOnFirstUse,
  installPlan: required(path({ help: "Your install plan for this target" })),
  allowVersionMismatch: flag({ help: "Let plugin.yaml give another version" }),
  symlinks: choice(["refuse", "skip"], { help: "What to do with symbolic links in the archive", default: "refuse" }),
});

/** Options of what is fetched for a comparison; the target decides which of them are needed. */
export const comparedSources = {
  ...group("Project", {
    deploymentCredential: optional(projectSource.deploymentCredential),
    signerPublicKey: optional(projectSource.signerPublicKey),
    gitToken: projectSource.gitToken,
  }),
  ...group("Marketplace", {
    signingSecret: optional(signingSecret),
    allowVersionMismatch: marketplaceSource.allowVersionMismatch,
    symlinks: marketplaceSource.symlinks,
  }),
};

/** Target of a deployment, and its version. */
export const deployed = group("Target", {
  projectId: required(text({ metavar: "PROJECT", help: "The project: its id or name" })),
  kind: choice(["plugin", "service"], { help: "What SLUG names", default: "plugin" }),
  version: text({ metavar: "VERSION", help: "Version to deploy", default: "latest" }),
});

/** Whether a deployment is only tried. */
export const dryRun = group("Target", {
  dryRun: flag({ help: "Fetch and verify, tell what would change, and change nothing" }),
});
