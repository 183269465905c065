import { readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { usageError } from "../../contract/errors.ts";
import { pluginName } from "../../contract/files/descriptor.ts";
import { DESCRIPTOR_FILE } from "../../contract/files/manifest.ts";
import type { ExecutionMode } from "../../contract/surfaces/runtime.ts";
import { makeFolder } from "../../support/files.ts";
import { DOUBLES_FILES, TRIAL_FILE } from "./trial.ts";
import { LOCAL_FOLDER, TYPES_FILE, writeTypePaths } from "./type-paths.ts";

export interface ScaffoldOptions {
  name: string;
  /** Folder to write, which must be missing or empty. */
  folder: string;
  language: "typescript" | "javascript";
  mode: ExecutionMode;
}

const descriptorText = ({ name, mode }: ScaffoldOptions, entry: string): string => `name: ${name}
version: 0.1.0
description: Greets.
entry_point: ${entry}
execution_mode: ${mode}
# What the plugin may use besides its own data/: services, events, other plugins.
permissions:
  - resource: cache
    actions: [get, set]
resources:
  timeout_seconds: 10
  max_memory_mb: 128
  rate_limit: { calls: 1000, period_seconds: 60 }
# Keys of your own reach the plugin as context.config.
greeting: Hello
`;

const ROUTES = `  // Served below /plugin/<name>; permissions are checked against the bearer token before the handler runs.
  routes: [{ method: "GET", path: "/greetings", permissions: ["greetings:read"], handler: () => ({ greetings: ["Hello"] }) }],
`;

const sourceText = ({ language, mode }: ScaffoldOptions): string => {
  const typed = language === "typescript";
  return `import { defineAction, definePlugin } from "sealift/sdk";
import { z } from "zod";
${typed ? "\ninterface Config {\n  greeting: string;\n}\n" : ""}
export default definePlugin${typed ? "<Config>" : ""}({
  actions: {
    greet: defineAction({
      payload: z.object({ name: z.string().min(1) }),
      handler: async ({ name }, { config, services, logger }${typed ? ": PluginContext<Config>" : ""}) => {
        const times = ((await services.cache.get${typed ? "<number>" : ""}(name)) ?? 0) + 1;
        await services.cache.set(name, times);
        logger.info("greeted", { name, times });
        return { text: \`\${config.greeting}, \${name}!\`, times };
      },
    }),
  },
${mode === "trusted" ? ROUTES : ""}});
`.replace(
    'import { defineAction, definePlugin } from "sealift/sdk";',
    typed
      ? 'import { type PluginContext, defineAction, definePlugin } from "sealift/sdk";'
      : 'import { defineAction, definePlugin } from "sealift/sdk";',
  );
};

const TRIALS = `# \`sealift plugin test\` makes these calls in a throw-away runtime.
- name: greets by name
  action: greet
  payload: { name: Ada }
  result: { text: "Hello, Ada!", times: 1 }
- name: goes on counting
  action: greet
  payload: { name: Grace }
  result: { text: "Hello, Grace!", times: 42 }
- name: wants a name
  action: greet
  payload: {}
  code: payload_invalid
`;

const DOUBLES = `import { defineDoubles } from "sealift/sdk";

// \`sealift plugin test\` asks these stand-ins instead of services and other plugins.
const counts = new Map([["Grace", 41]]);

export default defineDoubles({
  cache: {
    get: (name) => counts.get(name),
    set: (name, times) => counts.set(name, Number(times)),
  },
});
`;

/** Returns the page that the marketplace shows for the plugin. */
const readmeText = ({ name }: ScaffoldOptions): string => `# ${name}

Greets by name, and counts how often.

## Actions

| action  | payload       | result                                   |
| ------- | ------------- | ---------------------------------------- |
| \`greet\` | \`{ "name" }\` | \`{ "text", "times" }\`: how often it was |

## Settings

| key of plugin.yaml | what it is                           |
| ------------------ | ------------------------------------ |
| \`greeting\`         | The word before the name (\`Hello\`) |

## Needs

The service \`cache\`, which keeps the counts.
`;

const TSCONFIG = {
  extends: `./${TYPES_FILE}`,
  compilerOptions: {
    target: "es2024",
    module: "nodenext",
    moduleResolution: "nodenext",
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  },
  include: ["src", DOUBLES_FILES[0]],
};

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Returns the files of a new plugin, by path. */
export function scaffoldFiles(options: ScaffoldOptions): Record<string, string> {
  const { name, language } = options;
  const entry = language === "typescript" ? "src/main.ts" : "src/main.js";
  return {
    [DESCRIPTOR_FILE]: descriptorText(options, entry),
    [entry]: sourceText(options),
    [TRIAL_FILE]: TRIALS,
    [DOUBLES_FILES[language === "typescript" ? 0 : 1]]: DOUBLES,
    "README.md": readmeText(options),
    "package.json": json({ name, version: "0.1.0", private: true, type: "module" }),
    ".gitignore": `node_modules/\ndata/\n${LOCAL_FOLDER}/\n`,
    ...(language === "typescript" && { "tsconfig.json": json(TSCONFIG) }),
  };
}

/**
 * Writes a new, working plugin.
 * @returns the paths written, relative to the folder
 * @throws UsageError `usage` for an invalid name, or a folder that is not empty
 */
export async function scaffoldPlugin(options: ScaffoldOptions): Promise<string[]> {
  const named = pluginName.safeParse(options.name);
  if (!named.success)
    throw usageError("usage", `The name ${options.name} ${named.error.issues[0]?.message ?? "is not valid"}.`);
  await makeFolder(options.folder);
  if ((await readdir(options.folder)).length > 0) {
    throw usageError("usage", `The folder ${options.folder} is not empty.`, {
      hint: "Choose another with --directory.",
    });
  }
  const files = scaffoldFiles(options);
  for (const [path, content] of Object.entries(files)) {
    const file = join(options.folder, path);
    await makeFolder(dirname(file));
    await writeFile(file, content);
  }
  await writeTypePaths(options.folder);
  return Object.keys(files);
}
