import { setImmediate as nextTurn } from "node:timers/promises";
import { fun, type Many, none } from "stream-chain/core";
import parser, { type Token } from "stream-json/parser.js";
import { artifactError } from "../../contract/errors.ts";
import { printableJson } from "../../support/printable.ts";
import { BILL_FORMATS, BILL_FORMATS_TEXT, type BillFormat, type Component } from "./bill-formats.ts";

/** Facts of a bill of materials, as far as it was read. */
export interface BillFacts {
  /** Its format and version, such as `https://cyclonedx.org/bom/1.6`. */
  predicateType: string;
  components: number;
}

/** Deepest nesting of brackets. */
const MAX_DEPTH = 64;
const MAX_COMPONENTS = 100_000;
/** Longest text of a component, in characters. */
const MAX_TEXT = 1024;

/** Keys of the document that are read: JSON readers disagree about which of two counts. */
const ROOT_KEYS: ReadonlySet<string> = new Set([
  "bomFormat",
  ...BILL_FORMATS.flatMap(({ list, version }) => [list, version]),
]);

/** Object or list that is open. */
interface Open {
  /** Role in the document. */
  role: "root" | "context" | "entries" | "entry" | "identifiers" | "identifier" | "other";
  /** Format whose list it is in. */
  format: BillFormat | undefined;
  key: string;
  texts: Record<string, string>;
  /** Package URL of an entry's identifiers. */
  purl: string;
  /** Key of a text that no component may have; empty where there is none. */
  fault: string;
}

const invalid = (why: string, cause?: unknown) =>
  artifactError("statement_invalid", `The SBOM is not usable: ${why}.`, cause === undefined ? {} : { cause });

/** Bytes parsed at a time. */
const PIECE_BYTES = 16 * 1024;

/** Reads a document of any format as it passes, in constant memory: keys may come in any order. */
class BillReader {
  readonly #open: Open[] = [];
  readonly #onComponent: (component: Component) => void;
  readonly #counts = new Map<BillFormat, number>();
  #root: Record<string, string> = {};
  #components = 0;

  constructor(onComponent: (component: Component) => void) {
    this.#onComponent = onComponent;
  }

  /** Processes a token. @throws ArtifactError `statement_invalid` */
  consume(token: Token): void {
    const top = this.#open.at(-1);
    switch (token.name) {
      case "startObject":
        return this.#begin(top, false);
      case "startArray":
        return this.#begin(top, true);
      case "endObject":
      case "endArray":
        return this.#end(this.#open.pop()!);
      case "keyValue":
        if (top!.role === "root" && ROOT_KEYS.has(token.value)) this.#refuseTwice(top!, token.value);
        top!.key = token.value;
        return;
      case "stringValue":
        return this.#text(top, token.value);
      default:
        if (top === undefined || top.role === "entries") throw invalid(`it is not ${BILL_FORMATS_TEXT}`);
    }
  }

  /** Rejects a repeated key, since JSON readers disagree about which one counts. */
  #refuseTwice(top: Open, key: string): void {
    if (top.texts[`seen ${key}`] !== undefined) throw invalid(`it has ${key} twice`);
    top.texts[`seen ${key}`] = "";
  }

  #begin(top: Open | undefined, isList: boolean): void {
    if (this.#open.length >= MAX_DEPTH) throw invalid(`it is more than ${MAX_DEPTH} levels deep`);
    const { role, format } = this.#placeIn(top, isList);
    this.#open.push({ role, format, key: "", texts: {}, purl: "", fault: "" });
  }

  #placeIn(top: Open | undefined, isList: boolean): Pick<Open, "role" | "format"> {
    if (top === undefined) {
      if (isList) throw invalid("it is a list");
      return { role: "root", format: undefined };
    }
    const { role, key, format } = top;
    if (role === "entries") {
      if (isList) throw invalid("one of its components is a list");
      return { role: "entry", format };
    }
    if (role === "identifiers" && !isList) return { role: "identifier", format };
    if (role === "root") {
      if (key === "@context" && isList) return { role: "context", format };
      const begun = BILL_FORMATS.find(({ list }) => list === key);
      if (begun !== undefined) return this.#entriesOf(begun, isList);
    }
    if (role === "entry" && format?.nested === key) return this.#entriesOf(format, isList);
    if (role === "entry" && format?.identifiers?.list === key && isList) return { role: "identifiers", format };
    return { role: "other", format: undefined };
  }

  #entriesOf(format: BillFormat, isList: boolean): Pick<Open, "role" | "format"> {
    if (!isList) throw invalid(`its ${format.list} are not a list`);
    return { role: "entries", format };
  }

  #text(top: Open | undefined, value: string): void {
    if (top === undefined || top.role === "entries") throw invalid(`it is not ${BILL_FORMATS_TEXT}`);
    const { role, key, format, texts } = top;
    if (role === "root" && ROOT_KEYS.has(key)) this.#root[key] = value;
    else if (role === "context") this.#contextOf(value);
    else if (role === "entry" ? format!.texts.has(key) : role === "identifier" && format!.identifiers!.texts.has(key)) {
      texts[key] = value;
      if (value.length > MAX_TEXT || value.includes("\0")) top.fault = key;
    }
  }

  /** Takes the first context of SPDX for that of the document: extensions have theirs beside it. */
  #contextOf(value: string): void {
    const isOurs = BILL_FORMATS.some(({ isDocument }) => isDocument({ "@context": value }));
    if (isOurs) this.#root["@context"] ??= value;
  }

  #end({ role, format, texts, purl, fault }: Open): void {
    if (role === "identifier") {
      const entry = this.#open.at(-2)!;
      const found = format!.purlOf!(texts);
      if (found === undefined || entry.purl !== "") return;
      entry.purl = found;
      entry.fault ||= fault;
    }
    if (role !== "entry" || !format!.isComponent(texts)) return;
    if (++this.#components > MAX_COMPONENTS) throw invalid(`it has more than ${MAX_COMPONENTS} components`);
    if (fault !== "") throw invalid(`a component has an unusable ${fault}`);
    const missing = format!.required.filter((name) => (texts[name] ?? "") === "");
    if (missing.length > 0) throw invalid(`one of its components has no ${missing.join(" and no ")}`);
    this.#counts.set(format!, (this.#counts.get(format!) ?? 0) + 1);
    this.#onComponent(format!.componentOf(texts, purl));
  }

  /** Ends the document. @throws ArtifactError `statement_invalid` for one of no format, or of two */
  end(): BillFacts {
    const [format, second] = BILL_FORMATS.filter(({ isDocument }) => isDocument(this.#root));
    if (format === undefined) throw invalid(`it is not ${BILL_FORMATS_TEXT}`);
    const other = second ?? [...this.#counts.keys()].find((counted) => counted !== format);
    if (other !== undefined) throw invalid(`it has ${other.list} of ${other.name} beside ${format.list}`);
    const said = this.#root[format.version];
    const known = Object.hasOwn(format.versions, said ?? "") ? format.versions[said ?? ""] : undefined;
    if (known === undefined)
      throw invalid(
        `its ${format.version} is ${printableJson(said?.slice(0, 60) ?? "missing")}, not ${Object.keys(format.versions).join(" or ")}`,
      );
    return { predicateType: known, components: this.#components };
  }
}

/**
 * Reads the components of a bill of materials, nested ones too.
 *
 * @throws ArtifactError `statement_invalid` for bytes that are of no known format, or exceed a limit
 */
export async function readBill(
  chunks: AsyncIterable<Uint8Array>,
  onComponent: (component: Component) => void = () => {},
): Promise<BillFacts> {
  // The parser's types omit bytes as input, and synchronous answers of synchronous parts.
  const parse = fun(parser({ streamValues: false })) as unknown as (piece: Uint8Array | typeof none) => Many<Token>;
  const reader = new BillReader(onComponent);
  const take = (piece: Uint8Array | typeof none): void => {
    let tokens;
    try {
      tokens = parse(piece).values;
    } catch (error) {
      throw invalid(`it is not JSON (${(error as Error).message})`, error);
    }
    for (const token of tokens) reader.consume(token);
  };
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) take(chunk.subarray(at, at + PIECE_BYTES));
    await nextTurn();
  }
  take(none);
  return reader.end();
}
