/** Errors that are known across copies of one package, where `instanceof` sees two different classes. */
export class Brand<Branded extends Error> {
  readonly #symbol: symbol;

  /** @param name the same in every copy: that of the class */
  constructor(name: string) {
    this.#symbol = Symbol.for(`claimcheck.${name}`);
  }

  /** For the constructor of the class. */
  mark(error: Branded): void {
    Object.defineProperty(error, this.#symbol, { value: true });
  }

  readonly isOn = (error: unknown): error is Branded =>
    typeof error === "object" && error !== null && (error as Record<symbol, unknown>)[this.#symbol] === true;
}
