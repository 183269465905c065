import { setImmediate as nextTurn } from "node:timers/promises";
import { fun, type Many, none } from "stream-chain/core";
import parser, { type Token } from "stream-json/parser.js";
import { artifactError } from "../../contract/errors.ts";
import { printableJson } from "../../support/printable.ts";

/** Component of a bill of materials. Missing texts are empty. */
export interface Component {
  type: string;
  /** Name with its group: `@babel/core`, `org.apache.logging/log4j-core`. */
  name: string;
  version: string;
  /** Package URL. */
  purl: string;
}

/** Facts of a bill of materials, as far as it was read. */
export interface BillFacts {
  specVersion: string;
  components: number;
}

export const SPEC_VERSIONS: readonly string[] = ["1.6", "1.7"];

/** Deepest nesting of brackets. */
const MAX_DEPTH = 64;
const MAX_COMPONENTS = 100_000;
/** Longest text of a component, in characters. */
const MAX_TEXT = 1024;

/** Texts of a component that are read. */
const TEXTS: ReadonlySet<string> = new Set(["type", "group", "name", "version", "purl"]);

/** Keys of the document that are read. */
const ROOT_KEYS: ReadonlySet<string> = new Set(["bomFormat", "specVersion", "components"]);

/** Object or list that is open. */
interface Open {
  /** Role in the document. */
  role: "root" | "components" | "component" | "other";
  key: string;
  texts: Record<string, string>;
}

const invalid = (why: string, cause?: unknown) =>
  artifactError("statement_invalid", `The SBOM is not usable: ${why}.`, cause === undefined ? {} : { cause });

/** Bytes parsed at a time. */
const PIECE_BYTES = 16 * 1024;

/** Reads a CycloneDX document in JSON as it passes, in constant memory. */
class BillReader {
  readonly #open: Open[] = [];
  readonly #onComponent: (component: Component) => void;
  #bomFormat: string | undefined;
  #specVersion: string | undefined;
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
        if (top === undefined || top.role === "components") throw invalid("it is not a CycloneDX object");
    }
  }

  /** Rejects a repeated key, since JSON readers disagree about which one counts. */
  #refuseTwice(top: Open, key: string): void {
    if (top.texts[`seen ${key}`] !== undefined) throw invalid(`it has ${key} twice`);
    top.texts[`seen ${key}`] = "";
  }

  #begin(top: Open | undefined, isList: boolean): void {
    if (this.#open.length >= MAX_DEPTH) throw invalid(`it is more than ${MAX_DEPTH} levels deep`);
    const role = this.#roleIn(top, isList);
    if (role === "component" && ++this.#components > MAX_COMPONENTS)
      throw invalid(`it has more than ${MAX_COMPONENTS} components`);
    this.#open.push({ role, key: "", texts: {} });
  }

  #roleIn(top: Open | undefined, isList: boolean): Open["role"] {
    if (top === undefined) {
      if (isList) throw invalid("it is a list");
      return "root";
    }
    if (top.role === "components") {
      if (isList) throw invalid("one of its components is a list");
      return "component";
    }
    if (top.key !== "components" || (top.role !== "root" && top.role !== "component")) return "other";
    if (!isList) throw invalid("its components are not a list");
    return "components";
  }

  #text(top: Open | undefined, value: string): void {
    if (top === undefined || top.role === "components") throw invalid("it is not a CycloneDX object");
    if (top.role === "root" && top.key === "bomFormat") this.#bomFormat = value;
    else if (top.role === "root" && top.key === "specVersion") this.#specVersion = value;
    else if (top.role === "component" && TEXTS.has(top.key)) {
      if (value.length > MAX_TEXT || value.includes("\0")) throw invalid(`a component has an unusable ${top.key}`);
      top.texts[top.key] = value;
    }
  }

  #end({ role, texts }: Open): void {
    if (role !== "component") return;
    const { type = "", group = "", name = "", version = "", purl = "" } = texts;
    if (type === "" || name === "") throw invalid("one of its components has no type or no name");
    this.#onComponent({ type, name: group === "" ? name : `${group}/${name}`, version, purl });
  }

  /** Ends the document. @throws ArtifactError `statement_invalid` for one that is not CycloneDX */
  end(): BillFacts {
    if (this.#bomFormat !== "CycloneDX") throw invalid("its bomFormat is not CycloneDX");
    if (this.#specVersion === undefined || !SPEC_VERSIONS.includes(this.#specVersion))
      throw invalid(
        `its specVersion is ${printableJson(this.#specVersion?.slice(0, 20) ?? "missing")}, not ${SPEC_VERSIONS.join(" or ")}`,
      );
    return { specVersion: this.#specVersion, components: this.#components };
  }
}

/**
 * Reads the components of a CycloneDX document, nested ones too.
 *
 * @throws ArtifactError `statement_invalid` for bytes that are not CycloneDX 1.6 or 1.7 in JSON, or exceed a limit
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
