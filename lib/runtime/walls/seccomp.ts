import { constants } from "node:os";
import {
  CLONE,
  MODE_SETTERS,
  NEWEST_SYSCALL,
  REACHING_OUT,
  REACHING_OUT_UNLESS_ZERO,
  REFUSED,
  SOCKET,
  UNREADABLE,
} from "./syscalls.ts";

/**
 * Filter of system calls that the kernel runs before each call of a sandboxed process: a program for the classic
 * Berkeley packet filter (seccomp(2), linux/filter.h), compiled here from the table of calls.
 */

/** Families of sockets that a process may open (socket(2)). */
export const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

const ARCHITECTURES = {
  x64: { column: 0, audit: 0xc000003e },
  arm64: { column: 1, audit: 0xc00000b7 },
} as const;

// Instructions: load a word, jump if equal, jump if greater, jump if a bit is set, return an answer.
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER = 0x25;
const JUMP_SET = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (name: "EPERM" | "ENOSYS" | "EACCES"): number => 0x00050000 + constants.errno[name];

/** Offsets in `struct seccomp_data`; for an argument, the lower half on a little-endian machine. */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const CLONE_THREAD = 0x00010000;
/** S_ISUID and S_ISGID. */
const SET_ID_BITS = 0o6000;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

/** Compiles the answer to one call, whatever its arguments. */
const answer = (number: number, value: number): Instruction[] => [
  [JUMP_EQUAL, 0, 1, number],
  [RETURN, 0, 0, value],
];

/** Compiles the decision about one call by its arguments; every path of `decide` ends with an answer. */
const decided = (number: number, decide: Instruction[]): Instruction[] => [
  [JUMP_EQUAL, 0, decide.length, number],
  ...decide,
];

interface FilterOptions {
  /** Kinds of sockets that the process may open, of {@link FAMILY}. */
  families: readonly number[];
  /**
   * Whether the process has no namespaces: then the filter protects other processes of its user, and the modes of their
   * files.
   */
  sharesHost?: boolean;
}

function instructions(column: 0 | 1, audit: number, { families, sharesHost }: FilterOptions): Instruction[] {
  const every = (table: Record<string, readonly [number | undefined, number | undefined]>, value: number) =>
    Object.values(table).flatMap((numbers) => (numbers[column] === undefined ? [] : answer(numbers[column], value)));
  const modes = MODE_SETTERS.flatMap(([numbers, argument]) => {
    const number = numbers[column];
    if (number === undefined) return [];
    return decided(number, [
      [LOAD, 0, 0, argumentAt(argument)],
      [JUMP_SET, 0, 1, SET_ID_BITS],
      [RETURN, 0, 0, errno("EPERM")],
      [RETURN, 0, 0, ALLOW],
    ]);
  });
  const unlessZero = REACHING_OUT_UNLESS_ZERO.flatMap(([numbers, argument]) =>
    decided(numbers[column] as number, [
      [LOAD, 0, 0, argumentAt(argument)],
      [JUMP_EQUAL, 0, 3, 0],
      [LOAD, 0, 0, argumentAt(argument) + 4],
      [JUMP_EQUAL, 0, 1, 0],
      [RETURN, 0, 0, ALLOW],
      [RETURN, 0, 0, errno("EPERM")],
    ]),
  );
  return [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER_AT],
    // The calls of x32 have a bit above all numbers, so they end here as well.
    [JUMP_GREATER, 0, 1, NEWEST_SYSCALL],
    [RETURN, 0, 0, errno("ENOSYS")],
    ...every(REFUSED, errno("EPERM")),
    ...every(UNREADABLE, errno("ENOSYS")),
    ...(sharesHost === true ? [...every(REACHING_OUT, errno("EPERM")), ...unlessZero] : []),
    // Threads, but no processes and no namespaces.
    ...decided(CLONE[column] as number, [
      [LOAD, 0, 0, argumentAt(0)],
      [JUMP_SET, 1, 0, CLONE_THREAD],
      [RETURN, 0, 0, errno("EPERM")],
      [RETURN, 0, 0, ALLOW],
    ]),
    ...decided(SOCKET[column] as number, [
      [LOAD, 0, 0, argumentAt(0)],
      ...families.flatMap((family) => answer(family, ALLOW)),
      [RETURN, 0, 0, errno("EACCES")],
    ]),
    ...modes,
    [RETURN, 0, 0, ALLOW],
  ];
}

/** Returns the filter as the kernel reads it, or `undefined` for an architecture whose calls are not in the table. */
export function seccompFilter(options: FilterOptions, architecture: string = process.arch): Buffer | undefined {
  if (architecture !== "x64" && architecture !== "arm64") return undefined;
  const { column, audit } = ARCHITECTURES[architecture];
  const program = instructions(column, audit, options);
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand, index * 8 + 4);
  }
  return bytes;
}
