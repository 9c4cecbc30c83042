/** Errors of pictures. docs/pictures.md: Errors. */

/** TABLE codes of `x-vercel-error` → status. */
export const PICTURE_ERRORS = {
  INVALID_IMAGE_OPTIMIZE_REQUEST: 400,
  OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED: 502,
  OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID: 502,
  OPTIMIZED_EXTERNAL_IMAGE_REQUEST_UNAUTHORIZED: 502,
  OPTIMIZED_EXTERNAL_IMAGE_TOO_MANY_REDIRECTS: 502,
  INTERNAL_OPTIMIZED_IMAGE_REQUEST_FAILED: 502,
  IMAGE_OPTIMIZATION_THROTTLED: 503,
  INFINITE_LOOP_DETECTED: 508,
} as const

export type PictureError = keyof typeof PICTURE_ERRORS

/** A picture that is not sent. The message is for the visitor. */
export class PictureFailure extends Error {
  readonly code: PictureError

  constructor(code: PictureError, message: string) {
    super(message)
    this.code = code
  }
}

/** Creates the failure of a source that cannot be used as a picture. */
export function notValid(message: string): PictureFailure {
  return new PictureFailure('INVALID_IMAGE_OPTIMIZE_REQUEST', message)
}

/** Creates the failure of a picture that has no turn in time. */
export function throttled(): PictureFailure {
  return new PictureFailure(
    'IMAGE_OPTIMIZATION_THROTTLED',
    'Too many pictures are being made. Request it again in a few seconds.',
  )
}
