export type Kind = 'file' | 'link' | 'folder'

/** TABLE flag → kind. A contiguous file (7) is a file. */
const KINDS: Readonly<Record<string, Kind>> = { '0': 'file', '\0': 'file', '7': 'file', '2': 'link', '5': 'folder' }

/** TABLE flag → why the entry is refused; continues a sentence that begins with its path. */
const REFUSED: Readonly<Record<string, string>> = {
  '1': 'is a hard link. Pack it as a file of its own, by the option --hard-dereference of tar.',
  '3': 'is a device. Only files, links and folders are deployed.',
  '4': 'is a device. Only files, links and folders are deployed.',
  '6': 'is a named pipe. Only files, links and folders are deployed.',
  S: 'is a sparse file. Pack it without the option --sparse of tar.',
}

/** The type in a mode (POSIX `S_IFMT`). */
const TYPES: Readonly<Record<Kind, number>> = { file: 0o100000, link: 0o120000, folder: 0o040000 }

/** Returns the kind of a flag, or why the entry is refused. Old archives mark directories with a trailing slash. */
export function kindOf(flag: string, name: string): Kind | { fault: string } {
  const kind = Object.hasOwn(KINDS, flag) ? KINDS[flag]! : undefined
  if (kind === 'file' && name.endsWith('/')) return 'folder'
  const type = Object.hasOwn(REFUSED, flag) ? REFUSED[flag]! : undefined
  return kind ?? { fault: type ?? `is of a kind that is not deployed (${JSON.stringify(flag)}).` }
}

/** Returns the mode for a file list: permissions and type. */
export function modeOf(kind: Kind, mode: number): number {
  return TYPES[kind] | (mode & 0o7777)
}
