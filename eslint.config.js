import { readdirSync } from "node:fs";
import parser from "@typescript-eslint/parser";
import { defineConfig } from "eslint/config";
import boundaries from "eslint-plugin-boundaries";
import importSort from "eslint-plugin-simple-import-sort";
import plainComments from "./scripts/lint/plain-comments.js";
import { WINGS } from "./scripts/wings.ts";

/** What each room may import: arrows point one way (docs/decisions/0001-rooms.md). */
const rooms = {
  ...Object.assign({}, ...Object.values(WINGS).map((wing) => wing.rooms)),
  commands: Object.values(WINGS)
    .flatMap((wing) => Object.keys(wing.rooms))
    .filter((room) => room !== "sdk"),
  bin: ["commands", "support"],
};

/** The folders of a room's features. */
const featuresOf = (room) =>
  readdirSync(`${import.meta.dirname}/lib/${room}/features`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `features/${name}`);

/**
 * Floors inside a room, from the ground up: a folder imports the floors below it, and folders of one floor do not know
 * each other. "." stands for the files in the room's own folder.
 */
const floors = {
  artifact: [
    ["."],
    ["thread"],
    ["tree"],
    ["signatures"],
    ["project", "zip", "statements", "trust", "sealed"],
    ["delta", "kits"],
  ],
  hub: [
    ["base"],
    ["records", "blobs"],
    ["storage"],
    ["observability"],
    ["backup", "fleets", "gate", "keys", "http"],
    ["access", "publications", "upkeep"],
    ["mounts"],
    // The interface of features, and what each of them is made of: only the list in the hub's own folder imports those.
    ["features"],
    featuresOf("hub"),
    ["."],
  ],
  web: [["page"], ["features"], ["catalogue", "fleets", "account"], featuresOf("web"), ["."]],
  agent: [
    ["base"],
    ["sources", "supervisors", "reports", "policy"],
    ["applications"],
    ["deployment"],
    ["health", "settings"],
    ["watch", "upgrade"],
    ["."],
  ],
  runtime: [
    ["guest"],
    ["base"],
    ["walls", "network", "router", "observability", "watchdog"],
    ["sandbox", "trusted"],
    ["services"],
    ["catalogue"],
    ["calls"],
    ["lifecycle"],
    ["routes"],
    ["."],
    ["authoring"],
  ],
};

const hubFeatures = featuresOf("hub").map((place) => place.replace("features/", ""));

const placesOf = (room) => (floors[room] ?? []).flat().filter((place) => place !== ".");
/** The elements that a room consists of. */
const elementsOf = (room) => [room, ...placesOf(room).map((place) => `${room}/${place}`)];

/** Policies of a room: what it may import of other rooms, and each of its floors of those below. */
function policiesOf(room, allowed) {
  const others = allowed.flatMap(elementsOf);
  const policy = (from, to) => ({ from: { element: { type: from } }, allow: [{ to: { element: { type: to } } }] });
  const below = [];
  return (floors[room] ?? [["."]]).flatMap((floor) => {
    const places = floor.map((place) => (place === "." ? room : `${room}/${place}`));
    const found = places.map((place) => policy(place, [place, ...below, ...others]));
    below.push(...places);
    return found;
  });
}

/** A bundler can leave out what a namespace does not use: of zod's 450 kB, programs load the 100 that they need. */
const zodAsNamespace = [
  { selector: 'ImportDeclaration[source.value="zod"] > ImportSpecifier', message: 'Write import * as z from "zod".' },
  {
    selector: 'ImportExpression[source.value="zod"]',
    message: "Import a module of ours that imports zod: a dynamic import keeps all of zod in the bundle.",
  },
];

/** `node:readline` ends lines at U+2028 and U+2029, too, and holds a line of any length. */
const noReadline = [
  {
    selector: ":matches(ImportDeclaration, ImportExpression)[source.value=/^(node:)?readline/]",
    message: "Read NDJSON with readLines of artifact/tree, or behind boundLines of support/lines.ts.",
  },
];
/** Node's own way asks for ever where a parent is there and holds nothing new, such as /proc. */
const noEndlessFolders = [
  {
    selector: "CallExpression[callee.name='mkdir'] Property[key.name='recursive']",
    message: "folders are made by makeFolder (lib/support/files.ts)",
  },
];
/** A test that asks again and again for what does not come would hang, and say nothing. */
const noEndlessWaits = [
  "WhileStatement > ExpressionStatement.body > AwaitExpression[argument.callee.name=/^(sleep|delay|turn|pause)$/]",
  "WhileStatement[body.type='EmptyStatement']:has(> .test AwaitExpression)",
].map((selector) => ({ selector, message: "wait by until of test/support/until.ts, which has an end" }));
/** Files that read what a person types. */
const prompts = [
  "commands/plugins/plugin-dev.ts",
  "commands/shell/silent-prompt.ts",
  "commands/shell/output/confirm.ts",
];

/** The rules that oxlint does not have; all others, with those that need types, are in `.oxlintrc.jsonc`. */
export default defineConfig(
  { ignores: [".bench", "dist", "dist-site", "node_modules", ".tap", "examples"] },
  {
    files: ["**/*.{js,ts,tsx}"],
    languageOptions: { parser },
    plugins: { boundaries, "import-sort": importSort },
    settings: {
      "import/resolver": { node: { extensions: [".ts", ".tsx", ".js"] } },
      "boundaries/elements": [
        { type: "bin", pattern: "bin" },
        { type: "commands", pattern: "commands" },
        // The first that fits counts: inner folders come before outer ones.
        ...Object.keys(floors).flatMap((room) =>
          placesOf(room)
            .toReversed()
            .map((place) => ({ type: `${room}/${place}`, pattern: `lib/${room}/${place}` })),
        ),
        ...Object.keys(rooms)
          .filter((room) => room !== "bin" && room !== "commands")
          .map((room) => ({ type: room, pattern: `lib/${room}` })),
      ],
    },
    rules: {
      "no-useless-assignment": "error",
      "import-sort/imports": ["error", { groups: [["^\\u0000", "^node:", "^@?\\w", "^", "^\\."]] }],
    },
  },
  // A file is compared with the policies of its room, and not with those of all: that took a fifth of the time.
  ...Object.entries(rooms).map(([room, allow]) => ({
    files: [room === "bin" || room === "commands" ? `${room}/**` : `lib/${room}/**`],
    rules: {
      "boundaries/dependencies": [
        "error",
        {
          default: "disallow",
          message: "arrows point one way: see docs/decisions/0001-rooms.md",
          policies: policiesOf(room, allow),
        },
      ],
    },
  })),
  {
    // The thread of the lowest floor runs loops of all of them. A test may use what stands above its subject.
    files: ["lib/artifact/thread/artifact-worker.ts", "test/**"],
    rules: { "boundaries/dependencies": "off" },
  },
  {
    files: ["bin/**", "commands/**", "lib/**"],
    rules: { "no-restricted-syntax": ["error", ...zodAsNamespace, ...noReadline, ...noEndlessFolders] },
  },
  {
    files: ["test/**"],
    rules: { "no-restricted-syntax": ["error", ...noEndlessWaits] },
  },
  {
    files: prompts,
    rules: { "no-restricted-syntax": ["error", ...zodAsNamespace] },
  },
  {
    // Every statement of the hub stands in lib/hub/records, or in the records of a feature.
    files: ["lib/hub/**"],
    ignores: ["lib/hub/records/**", "lib/hub/features/*/*records.ts"],
    rules: {
      "no-restricted-imports": ["error", { paths: [{ name: "kysely", message: "SQL belongs to lib/hub/records" }] }],
      "no-restricted-syntax": [
        "error",
        ...zodAsNamespace,
        ...noReadline,
        ...noEndlessFolders,
        {
          selector: "MemberExpression[property.name=/^(selectFrom|insertInto|updateTable|deleteFrom|transaction)$/]",
          message: "SQL belongs to lib/hub/records",
        },
      ],
    },
  },
  {
    // The hub's own files know its features by their list, which is one of them.
    files: ["lib/hub/*.ts"],
    ignores: ["lib/hub/features.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          paths: [{ name: "kysely", message: "SQL belongs to lib/hub/records" }],
          patterns: [{ regex: "^./features/.+/", message: "only lib/hub/features.ts imports a feature" }],
        },
      ],
    },
  },
  {
    files: ["lib/web/*.ts"],
    ignores: ["lib/web/features.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ regex: "^./features/.+/", message: "only lib/web/features.ts imports a feature" }] },
      ],
    },
  },
  {
    // So do commands: those of a feature go with it.
    files: ["commands/**"],
    // The other list has the features that take part in a publication.
    ignores: ["commands/shell/registry.ts", "commands/publishing/features.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              regex: `^\\.\\./(?:${hubFeatures.join("|")})/`,
              message: "only the lists commands/shell/registry.ts and commands/publishing/features.ts import a feature",
            },
          ],
        },
      ],
    },
  },
  {
    // Comments fit the page, and docstrings begin with what they are or do.
    files: ["bin/**", "commands/**", "lib/**", "scripts/**", "test/**"],
    plugins: { sealift: { rules: { "plain-comments": plainComments } } },
    rules: { "sealift/plain-comments": "error" },
  },
);
