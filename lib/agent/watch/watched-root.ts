import { resolve } from "node:path";
import { type Layout, layoutOf } from "../../releases/layout.ts";
import { openProjectRoot, type ProjectRoot, type RootOptions } from "../../releases/project-root.ts";

/** Project root of a loop. Its owner is checked again at each check; one of another user is held open then. */
export class WatchedRoot implements AsyncDisposable {
  readonly #named: Layout;
  #opened: ProjectRoot | undefined;
  #entering: Promise<void> | undefined;

  constructor(path: string) {
    this.#named = layoutOf(resolve(path));
  }

  /** Paths to use now; do not keep them. */
  get layout(): Layout {
    return this.#opened?.layout ?? this.#named;
  }

  /** Opens the root; call it before anything that writes. @throws DeploymentError `root_foreign`, `root_unusable` */
  enter(options: RootOptions): Promise<void> {
    this.#entering ??= this.#open(options).finally(() => (this.#entering = undefined));
    return this.#entering;
  }

  async #open(options: RootOptions): Promise<void> {
    if (this.layout === this.#named) this.#opened = await openProjectRoot(this.#named, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.[Symbol.asyncDispose]();
  }
}
