/** Which paths an output may have. They are names on the disks of servers and laptops, so what one of these cannot hold is refused. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i

/** TABLE what is wrong with a path. The first row that holds is said. */
const FAULTS: readonly (readonly [holds: (path: string, names: readonly string[]) => boolean, message: string])[] = [
  [(path) => path === '', 'is empty.'],
  [(path) => path.length > OUTPUT_LIMITS.path, `is longer than ${OUTPUT_LIMITS.path} characters. Shorten it.`],
  [(path) => !path.isWellFormed(), 'is not valid Unicode. Rename the file.'],
  [(path) => path.includes('\0'), 'has a NUL in its name. Rename the file.'],
  [(path) => /[\x01-\x1f\x7f]/.test(path), 'has a control character in its name. Rename the file.'],
  [(path) => path.includes('\\'), 'has a backslash in its name. Separate folders by "/".'],
  [(path) => path.startsWith('/') || /^[A-Za-z]:\//.test(path), 'is absolute. Paths begin in the project folder.'],
  [(_, names) => names.length > OUTPUT_LIMITS.depth, `is more than ${OUTPUT_LIMITS.depth} folders deep.`],
  [(_, names) => names.includes('..'), 'leads out of the output by "..". Remove it.'],
  [(_, names) => names.includes('') || names.includes('.'), 'has an empty name or "." in its path. Remove it.'],
  [
    (_, names) => names.some((name) => Buffer.byteLength(name) > OUTPUT_LIMITS.name),
    `has a name of more than ${OUTPUT_LIMITS.name} bytes. Shorten it.`,
  ],
  [
    (_, names) => names.some((name) => DEVICE_NAME.test(name)),
    'has the name of a device (CON, NUL, COM1 …). Rename it.',
  ],
]

/** What is wrong with a path, as the rest of a sentence. Undefined where nothing is. */
export function pathFault(path: string): string | undefined {
  const names = path.length > OUTPUT_LIMITS.path ? [] : path.split('/')
  return FAULTS.find(([holds]) => holds(path, names))?.[1]
}

/** A path as systems compare it that ignore case and the form of accents. Two files of one such name cannot lie beside each other there. */
export function foldedPath(path: string): string {
  return path.normalize('NFC').toLowerCase().normalize('NFC')
}

/** Where a link leads, from the root of the upload. Undefined where it is absolute or leads out. */
export function linkTarget(link: string, target: string): string | undefined {
  if (target === '' || target.startsWith('/') || /[\0\\]/.test(target) || target.length > OUTPUT_LIMITS.path)
    return undefined
  const names = link.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names.join('/')
}

/** The folders above a path, the nearest first. */
export function* foldersAbove(path: string): Generator<string> {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    yield path.slice(0, slash)
}

/** A path in a message: short, and visible. */
export function shown(path: string): string {
  const text = JSON.stringify(path.slice(0, 100)).slice(1, -1)
  return path.length > 100 ? `${text}…` : text
}
