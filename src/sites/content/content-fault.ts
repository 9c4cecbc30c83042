/** Reasons why file content is unavailable. docs/deploying-sites.md: File cache. */

/** TABLE reasons of unavailable content. */
export const CONTENT_FAULTS = {
  fetch: 'the file could not be fetched',
  stalled: 'the file stopped arriving',
  mismatch: 'what arrived differs from the digest or the size of the file',
  too_large: 'the file is larger than the cache may be',
  full: 'the cache is full of files that visitors read just now',
  busy: 'too many files of this account are being fetched',
  damaged: 'the file in the cache was changed or removed while it was read',
  closed: 'the sites server is stopping',
} as const

export class ContentUnavailable extends Error {
  readonly why: keyof typeof CONTENT_FAULTS

  constructor(why: keyof typeof CONTENT_FAULTS, file: string, cause?: unknown) {
    super(`${CONTENT_FAULTS[why]} (${file})`, cause === undefined ? undefined : { cause })
    this.why = why
  }
}
