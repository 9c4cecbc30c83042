/** What the launcher and the sites server say to each other. The launcher runs on older versions of Node.js, and imports `node:` alone. docs/functions.md: Launcher. */

/** `socket`: what it dials, and `cache` for the data cache. `folder`: where the files of the function are. `entrypoint`: a path in it. `middleware`: it may return nothing. */
export type LauncherOptions = {
  socket: string
  cache: string
  folder: string
  entrypoint: string
  helpers: boolean
  sourceMaps: boolean
  webApi: boolean
  edge: boolean
  middleware: boolean
}

/** Lines of JSON from the launcher, on the connection that it dials first. `pending`: promises of `waitUntil` that have not settled. */
export type LauncherMessage =
  | { kind: 'ready' }
  | { kind: 'fault'; fault: string; message: string }
  | { kind: 'pending'; count: number }

/** Lines of JSON to the launcher. `dial`: open one more connection for requests. `drain`: end once nothing is pending. */
export type LauncherOrder = { kind: 'dial' } | { kind: 'drain' }

/** A response of the launcher in the place of the function's. The value is an error of `faults.ts`. */
export const FAULT_HEADER = 'x-berth-function-fault'

/** The request header with the id of the request. */
export const ID_HEADER = 'x-vercel-id'

/** A line of the function begins with this character, a stream and the id of its request. Other lines are of programs that it started. */
export const LINE_MARK = '\u001e'

/** The response header with the tags for purges. Visitors do not see it. */
export const CACHE_TAG_HEADER = 'vercel-cache-tag'
