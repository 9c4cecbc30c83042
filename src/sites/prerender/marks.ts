/** Short notes about keys, such as that their answers are for one visitor each. */

const MAX_MARKS = 10_000

/** Notes a key until a time. The oldest mark makes room: without it, something is asked once more. */
export function mark(marks: Map<string, number>, key: string, until: number): void {
  marks.delete(key)
  marks.set(key, until)
  if (marks.size > MAX_MARKS) for (const oldest of marks.keys()) return void marks.delete(oldest)
}
