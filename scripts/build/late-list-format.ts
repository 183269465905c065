/** List formatter that is created on first use. */
export class LateListFormat {
  readonly #parameters: ConstructorParameters<typeof Intl.ListFormat>;
  #made: Intl.ListFormat | undefined;

  constructor(...parameters: ConstructorParameters<typeof Intl.ListFormat>) {
    this.#parameters = parameters;
  }

  format(list: Iterable<string>): string {
    return (this.#made ??= new Intl.ListFormat(...this.#parameters)).format(list);
  }
}
