/** Short notes about keys, such as that their answers are for one visitor each. */
import { setNewest } from '../content/newest.ts'

const MAX_MARKS = 10_000

/** Notes a key until a time. The oldest mark makes room: without it, something is asked once more. */
export function mark(marks: Map<string, number>, key: string, until: number): void {
  setNewest(marks, key, until, MAX_MARKS)
}
