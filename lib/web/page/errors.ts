import { HubError } from "../../hub/base/errors.ts";

/** Error of a rejected key, answered by the sign-in page. */
export class SignInFailed extends HubError {
  readonly next: string;

  constructor({ statusCode, code, message }: HubError, next: string) {
    super(statusCode, code, message);
    this.next = next;
  }
}
