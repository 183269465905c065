/** A formatter of lists that is made when it is first used. */
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
