/**
 * `Intl.ListFormat` as bundles have it. The package `@sindresorhus/is`, below got, makes two when it is loaded, for
 * texts of errors only: reading the languages takes 12 ms of every start.
 */
export class LateListFormat {
  readonly #parameters: ConstructorParameters<typeof Intl.ListFormat>;
  #made: Intl.ListFormat | undefined;

  constructor(...parameters: ConstructorParameters<typeof Intl.ListFormat>) {
    this.#parameters = parameters;
  }

  format(list: Iterable<string>): string {
    // Not by its full name, which the bundle replaces by this class.
    const { ListFormat } = Intl;
    return (this.#made ??= new ListFormat(...this.#parameters)).format(list);
  }
}
