import { connection } from "../../lib/options/connection.ts";
import { DEPLOY_TIMEOUT_MS, hubConnection } from "../shell/connection.ts";
import type { CommandFeature } from "../shell/feature.ts";
import { showList } from "../shell/output/listing.ts";
import { type Connected, resource } from "../shell/resource.ts";

/** Most host names in one line. */
const SHOWN_HOSTS = 5;

/** Finds the versions that contain a component. @throws UsageError `usage` */
async function found(options: Connected, query: string) {
  const [{ componentQuery }, { ask }, { findComponents }, { usageError }] = await Promise.all([
    import("../../lib/contract/components/query.ts"),
    import("../../lib/client/ask.ts"),
    import("../../lib/contract/components/routes.ts"),
    import("../../lib/contract/errors.ts"),
  ]);
  if (componentQuery(query) === undefined)
    throw usageError("usage", `COMPONENT is NAME, NAME@RANGE or a package URL, not ${JSON.stringify(query)}.`);
  const hub = hubConnection(options, DEPLOY_TIMEOUT_MS);
  return ask(findComponents, { query: { q: query } }, { operation: "fleet", hub });
}

const ofComponent = resource("fleet", ["COMPONENT"], found);

const find = ofComponent("find", connection, {
  description: "Find the versions that contain a component, and the hosts that run them",
  details: `
    COMPONENT is a name or a package URL, alone or with a range: \`lodash@<4.17.21\`,
    \`pkg:cargo/serde@^1\`. Ranges are those of npm, where the type of the package has semantic versions (npm, cargo,
    golang, nuget, composer, hex, pub, swift). Versions of other types are compared as texts: give a whole one, or its
    beginning as \`2.14.*\`. What cannot be compared is said. It looks at the SBOMs of published versions, and at what
    the hosts of your fleets run now.
  `,
  examples: [
    ["Who runs a vulnerable lodash", '$0 fleet find "lodash@<4.17.21"'],
    ["By a package URL", "$0 fleet find pkg:maven/org.apache.logging.log4j/log4j-core@2.14.*"],
  ],
  listed: async () => Object.keys((await import("../../lib/contract/components/routes.ts")).foundVersion.shape),
  async run({ versions, truncated, uncompared, unindexed = [] }, shell, [query]) {
    const code = await showList(shell, {
      event: "version",
      rows: versions,
      columns: {
        TARGET: ({ target }) => target,
        VERSION: ({ version }) => version,
        COMPONENTS: ({ components }) => components.map(({ name, version }) => `${name} ${version}`).join(", "),
        HOSTS: ({ host_count: count }) => String(count),
        "RUN BY": ({ host_count: count, hosts }) => {
          const named = hosts.slice(0, SHOWN_HOSTS).join(", ");
          return count > SHOWN_HOSTS ? `${named} and ${count - SHOWN_HOSTS} more` : named;
        },
      },
      none: `No version with an SBOM contains ${query}.`,
      result: (count) => ({ count, truncated, uncompared, unindexed }),
    });
    if (truncated) shell.note("More versions contain it: ask for a narrower range.");
    if (unindexed.length > 0)
      shell.note(
        `The SBOMs of ${unindexed.map(({ target, version }) => `${target} ${version}`).join(", ")} are not indexed yet: ask again soon.`,
      );
    const [first] = uncompared;
    if (first !== undefined)
      shell.note(
        `Versions of ${first.purl || query} and ${uncompared.length - 1} more have no order that is known: ask for one by its whole version, or its beginning as 2.14.*.`,
      );
    return code;
  },
});

/** Commands of the components of published versions. */
export const components: CommandFeature = { name: "components", commands: [find] };
