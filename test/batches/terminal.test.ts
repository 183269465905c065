import { together } from "../support/together.ts";

together("test/lib/tui/**/*.test.{ts,tsx}");
