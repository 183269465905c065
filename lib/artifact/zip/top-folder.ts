/** Finds the folder that holds every entry, if there is exactly one and no file beside it. */
export class TopFolder {
  #name: string | undefined;
  #isOne = true;

  add(path: string, type: "file" | "folder"): void {
    // The root itself says nothing.
    if (path === "") return;
    const slash = path.indexOf("/");
    const first = slash === -1 ? path : path.slice(0, slash);
    this.#name ??= first;
    this.#isOne &&= first === this.#name && (type === "folder" || slash !== -1);
  }

  /** Name of the folder; undefined without one. */
  get name(): string | undefined {
    return this.#isOne ? this.#name : undefined;
  }
}
