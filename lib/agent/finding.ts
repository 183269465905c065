/** Result of one check. */
export interface Finding {
  check: string;
  status: "ok" | "warning" | "failed";
  message: string;
  /** Next thing to do about it. */
  hint?: string;
}

const finding =
  (status: Finding["status"]) =>
  (check: string, message: string, hint?: string): Finding => ({
    ...{ check, status, message },
    ...(hint !== undefined && { hint }),
  });
export const ok = finding("ok");
export const warning = finding("warning");
export const failed = finding("failed");
