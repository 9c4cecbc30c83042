/** What a function has on disk, as a stored file that the routing manifest names. docs/functions.md: Files. */

export const FUNCTION_FILES_VERSION = 1

/** Paths are relative to the function; links stay inside it. `environment`: variables that the builder sets. */
export type FunctionFiles = {
  version: typeof FUNCTION_FILES_VERSION
  files: { path: string; digest: string; size: number; executable: boolean }[]
  links: { path: string; target: string }[]
  environment: Record<string, string>
}

/** Reads a list. Throws for another version. Its digest is verified, so its form is that of the control plane. */
export function readFunctionFiles(text: string): FunctionFiles {
  const list = JSON.parse(text) as FunctionFiles
  if (list.version === FUNCTION_FILES_VERSION) return list
  throw new Error(
    `the list of files of a function has the version ${JSON.stringify(list.version)}, and this sites server knows ${FUNCTION_FILES_VERSION}: run the same Berth on both sides`,
  )
}
