import { relative, resolve } from "node:path";
import type { Metafile, Plugin } from "esbuild";

/**
 * Merges small chunks. esbuild makes one for each set of entries (programs and dynamic imports) that share modules, of
 * which there are hundreds, and each file costs every start that loads it a fifth of a millisecond. Entries are given
 * imports of modules that they do not need, until modules of several sets have the same one.
 */

/** Bytes of code that cost a start about as much as one more file. */
const FILE_COST = 4000;

/** Modules of this project that may be loaded by more entries: they do nothing but declare. */
const OWN = /^(?:commands|lib(?!\/sdk))\/.*\.tsx?$/;

/** Modules of the same entries, which esbuild puts into one file. */
interface Chunk {
  bytes: number;
  /** Outputs whose start loads it. */
  entries: Set<string>;
  /** Outputs of esbuild that it consists of. */
  parts: string[];
  imports: Set<Chunk>;
  /** Whether it has modules of this project only, and is no entry. */
  isOwn: boolean;
}

/** Modules of Node that every program has loaded before ours. The others cost up to 15 ms. */
const LOADED = /^node:(?:buffer|events|fs|fs\/promises|module|os|path|timers|timers\/promises|url|util)$/;

/** Returns the paths of what an output imports when it is loaded: other outputs, and modules of Node. */
const importsOf = (output: string, outputs: Metafile["outputs"]): string[] =>
  (outputs[output]?.imports ?? []).flatMap(({ kind, path }) => (isLoadedBy(kind, path) ? [path] : []));

const isLoadedBy = (kind: string, path: string): boolean => kind === "import-statement" && !LOADED.test(path);

/** Returns the paths of all that the start of an output loads, itself among them. */
function loadedBy(output: string, outputs: Metafile["outputs"]): Set<string> {
  const loaded = new Set([output]);
  for (const path of loaded) for (const imported of importsOf(path, outputs)) loaded.add(imported);
  return loaded;
}

/**
 * Chooses which modules entries load besides what they need.
 *
 * @param metafile of a build with splitting
 * @param modules entries of that build that are none of the next
 * @returns paths of modules by the path of the entry that is to import them, both relative to the project
 */
export function additionalImports(
  { inputs, outputs }: Metafile,
  modules: ReadonlySet<string> = new Set(),
): Map<string, Set<string>> {
  const entryOf = (path: string): string | undefined => outputs[path]?.entryPoint;
  const isEntry = (path: string): boolean => entryOf(path) !== undefined && !modules.has(entryOf(path)!);
  /** Entries that can be given imports. */
  const open = new Set(Object.keys(outputs).filter((path) => isEntry(path) && OWN.test(entryOf(path)!)));
  const chunks = new Map<string, Chunk>();
  const chunkOf = (path: string): Chunk => {
    const { bytes, inputs: parts } = outputs[path] ?? { bytes: 0, inputs: {} };
    const isOwn = path in outputs && entryOf(path) === undefined && Object.keys(parts).every((part) => OWN.test(part));
    return chunks.getOrInsertComputed(path, () => ({
      ...{ bytes, isOwn, parts: [path] },
      ...{ entries: new Set(), imports: new Set() },
    }));
  };
  const paths = Object.keys(outputs).filter((path) => path.endsWith(".js"));
  const outputOf = new Map(paths.flatMap((path) => Object.keys(outputs[path]!.inputs).map((module) => [module, path])));
  for (const path of paths) {
    for (const imported of importsOf(path, outputs)) chunkOf(path).imports.add(chunkOf(imported));
    // esbuild writes an import of which nothing is used into each entry, and not into the chunk.
    for (const module of Object.keys(outputs[path]!.inputs))
      for (const { kind, path: imported, external } of inputs[module]?.imports ?? []) {
        const place = external === true ? imported : outputOf.get(imported);
        if (isLoadedBy(kind, imported) && place !== undefined && place !== path)
          chunkOf(path).imports.add(chunkOf(place));
      }
    if (isEntry(path)) for (const loaded of loadedBy(path, outputs)) chunkOf(loaded).entries.add(path);
  }
  const entriesOf = new Map(chunks.entries().map(([path, { entries }]) => [path, new Set(entries)]));

  const shared = new Set([...chunks.values()].filter(({ isOwn }) => isOwn));
  for (let pairs = gainfulPairs(shared, open); pairs.length > 0; pairs = gainfulPairs(shared, open))
    for (const [one, other] of pairs) {
      if (!shared.has(one) || !shared.has(other) || gainOf(one, other, open) <= 0) continue;
      merge(one, other, chunks.values(), open);
      shared.delete(other);
    }
  return importsFor(shared, outputs, entriesOf);
}

/** Returns what the start of each entry loads that is not of this project: packages, and modules of Node. */
function othersOf({ outputs }: Metafile): Map<string, Set<string>> {
  const entries = Object.entries(outputs).flatMap(([path, { entryPoint }]) => {
    if (entryPoint === undefined) return [];
    const loaded = [...loadedBy(path, outputs)];
    const modules = loaded.flatMap((each) => Object.keys(outputs[each]?.inputs ?? {}));
    const others = [...modules, ...loaded].flatMap(
      (each) => /^node:.+|\/?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(each) ?? [],
    );
    return [[entryPoint.replace(/^entry:/, ""), new Set(others)] as const];
  });
  return new Map(entries);
}

/** Returns the packages and modules of Node that entries load only since others need them: there must be none. */
export function gained(before: Metafile, after: Metafile): string[] {
  const needed = othersOf(before);
  return [...othersOf(after)].flatMap(([entry, others]) =>
    [...others.difference(needed.get(entry) ?? new Set())].map((other) => `${entry}: ${other}`),
  );
}

/** Returns the bytes that the starts of all entries save together when two chunks become one; 0 if that cannot be. */
function gainOf(one: Chunk, other: Chunk, open: ReadonlySet<string>): number {
  const both = one.entries.intersection(other.entries).size;
  const gain = FILE_COST * both - one.bytes * (other.entries.size - both) - other.bytes * (one.entries.size - both);
  if (gain <= 0) return 0;
  const costs = [addedWith(one, other, open), addedWith(other, one, open)].map((added) =>
    added?.entries().reduce((sum, [{ bytes }, entries]) => sum + bytes * entries.size, 0),
  );
  return Math.max(0, gain - (costs[0] ?? Infinity) - (costs[1] ?? Infinity));
}

/**
 * Returns which entries load other chunks for the first time when those of `other` load this one, too; `undefined`
 * where they may not.
 */
function addedWith(chunk: Chunk, other: Chunk, open: ReadonlySet<string>): Map<Chunk, Set<string>> | undefined {
  const entries = other.entries.difference(chunk.entries);
  if (!entries.isSubsetOf(open)) return undefined;
  const added = new Map<Chunk, Set<string>>();
  const todo = [...chunk.imports].filter((each) => each !== other);
  for (const imported of todo) {
    const more = entries.difference(imported.entries);
    if (more.size === 0 || added.has(imported) || imported === other) continue;
    if (!imported.isOwn) return undefined;
    added.set(imported, more);
    todo.push(...imported.imports);
  }
  return added;
}

/** Returns the pairs of chunks that save something, the best first. */
function gainfulPairs(chunks: ReadonlySet<Chunk>, open: ReadonlySet<string>): [Chunk, Chunk][] {
  const all = [...chunks];
  return all
    .flatMap((one, index) =>
      all.slice(index + 1).flatMap((other) => {
        const gain = gainOf(one, other, open);
        return gain > 0 ? [{ pair: [one, other] as [Chunk, Chunk], gain }] : [];
      }),
    )
    .toSorted((a, b) => b.gain - a.gain)
    .map(({ pair }) => pair);
}

/** Makes the second chunk a part of the first. */
function merge(chunk: Chunk, part: Chunk, all: Iterable<Chunk>, open: ReadonlySet<string>): void {
  for (const added of [addedWith(chunk, part, open)!, addedWith(part, chunk, open)!])
    for (const [imported, entries] of added) for (const entry of entries) imported.entries.add(entry);
  chunk.bytes += part.bytes;
  chunk.parts.push(...part.parts);
  for (const entry of part.entries) chunk.entries.add(entry);
  for (const { imports } of all) if (imports.delete(part)) imports.add(chunk);
  for (const imported of part.imports) chunk.imports.add(imported);
  chunk.imports.delete(chunk);
}

/** Returns the imports that make chunks of what was merged. */
function importsFor(
  chunks: ReadonlySet<Chunk>,
  outputs: Metafile["outputs"],
  entriesOf: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, Set<string>> {
  const more = new Map<string, Set<string>>();
  for (const { entries, parts } of chunks)
    for (const part of parts)
      for (const entry of entries.difference(entriesOf.get(part)!)) {
        const { entryPoint } = outputs[entry]!;
        const modules = more.get(entryPoint!) ?? new Set();
        for (const module of Object.keys(outputs[part]!.inputs)) modules.add(module);
        more.set(entryPoint!, modules);
      }
  return more;
}

/**
 * Gives entries imports: another module stands in for each, and exports what it does.
 *
 * @param more see {@link additionalImports}
 */
export const withImports = (more: ReadonlyMap<string, ReadonlySet<string>>): Plugin => ({
  name: "additional-imports",
  setup(build) {
    build.onResolve({ filter: /\.tsx?$/ }, ({ kind, path, resolveDir }) => {
      const entry = relative(process.cwd(), resolve(resolveDir, path));
      if ((kind !== "dynamic-import" && kind !== "entry-point") || !more.has(entry)) return undefined;
      return { path: entry, namespace: "entry" };
    });
    build.onLoad({ filter: /./, namespace: "entry" }, ({ path }) => ({
      contents: [...more.get(path)!].reduce(
        (text, module) => `${text} import "./${module}";`,
        `export * from "./${path}";`,
      ),
      resolveDir: process.cwd(),
    }));
  },
});
