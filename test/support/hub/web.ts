/** A visitor of a hub's pages who keeps cookies and sends forms, as a browser without scripts does. */
export class Visitor {
  readonly #url: string;
  readonly #cookies = new Map<string, string>();

  constructor(url: string) {
    this.#url = url;
  }

  get cookies(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  set cookies(text: string) {
    this.#cookies.clear();
    for (const pair of text.split("; ")) this.#keep(pair);
  }

  #keep(pair: string): void {
    const at = pair.indexOf("=");
    this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }

  async request(path: string, init: RequestInit = {}): Promise<{ status: number; headers: Headers; html: string }> {
    const headers = new Headers(init.headers);
    if (!headers.has("cookie")) headers.set("cookie", this.cookies);
    const answer = await fetch(this.#url + path, { redirect: "manual", ...init, headers });
    for (const line of answer.headers.getSetCookie()) this.#keep(line.split(";", 1)[0]!);
    return { status: answer.status, headers: answer.headers, html: await answer.text() };
  }

  /** Sends the form of a page, with the token that it carries. */
  async submit(
    page: string,
    action: string,
    fields: Record<string, string> = {},
    init: RequestInit = {},
  ): ReturnType<Visitor["request"]> {
    const token = await this.token(page);
    const body = new URLSearchParams({ form_token: token, ...fields });
    return this.request(action, { method: "POST", body, ...init });
  }

  /** The token of a page's forms. */
  async token(page: string): Promise<string> {
    return /name="form_token" value="([^"]+)"/.exec((await this.request(page)).html)?.[1] ?? "";
  }

  async signIn(key: string): Promise<this> {
    const { status } = await this.submit("/sign-in", "/sign-in", { key });
    if (status !== 303) throw new Error(`signing in gave ${status}`);
    return this;
  }
}
