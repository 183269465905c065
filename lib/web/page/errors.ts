import { HubError } from "../../hub/base/errors.ts";

/** A key that was refused: its answer is the page that asks again. */
export class SignInFailed extends HubError {
  readonly next: string;

  constructor({ statusCode, code, message }: HubError, next: string) {
    super(statusCode, code, message);
    this.next = next;
  }
}
