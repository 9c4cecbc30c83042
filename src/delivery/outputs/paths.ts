/** Valid paths of an output. Servers and local machines must be able to store them all. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

const DEVICE_NAME = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$/i

/** TABLE path errors. The first match is reported. */
const FAULTS: readonly (readonly [holds: (path: string, names: readonly string[]) => boolean, message: string])[] = [
  [(path) => path === '', 'is empty.'],
  [(path) => path.length > OUTPUT_LIMITS.path, `is longer than ${OUTPUT_LIMITS.path} characters. Shorten it.`],
  [(path) => !path.isWellFormed(), 'is not valid Unicode. Rename the file.'],
  [(path) => path.includes('\0'), 'has a NUL in its name. Rename the file.'],
  [(path) => /[\x01-\x1f\x7f]/.test(path), 'has a control character in its name. Rename the file.'],
  [(path) => path.includes('\\'), 'has a backslash in its name. Separate folders by "/".'],
  [(path) => path.startsWith('/') || /^[A-Za-z]:\//.test(path), 'is absolute. Paths begin in the project folder.'],
  [(_, names) => names.length > OUTPUT_LIMITS.depth, `is more than ${OUTPUT_LIMITS.depth} folders deep.`],
  [(_, names) => names.includes('..'), 'leaves the output with "..". Remove it.'],
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

/** Returns the error of a path as the rest of a sentence, or undefined. */
export function pathError(path: string): string | undefined {
  const names = path.length > OUTPUT_LIMITS.path ? [] : path.split('/')
  return FAULTS.find(([holds]) => holds(path, names))?.[1]
}

/** Returns a path as compared by systems that ignore case and Unicode form. Two files with the same result cannot coexist there. */
export function foldedPath(path: string): string {
  return path.normalize('NFC').toLowerCase().normalize('NFC')
}

/** Resolves a link from the root of the upload. Returns undefined if it is absolute or leaves the upload. */
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

/** Yields the folders above a path, nearest first. */
export function* foldersAbove(path: string): Generator<string> {
  for (let slash = path.lastIndexOf('/'); slash > 0; slash = path.lastIndexOf('/', slash - 1))
    yield path.slice(0, slash)
}

/** Formats a path for a message: short, with visible characters. */
export function shown(path: string): string {
  const text = JSON.stringify(path.slice(0, 100)).slice(1, -1)
  return path.length > 100 ? `${text}…` : text
}
