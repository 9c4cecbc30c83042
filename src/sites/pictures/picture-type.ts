/** What a picture is, by its first bytes. Neither its name nor what a server says of it counts. docs/pictures.md: Formats. */

/** `made`: pictures of this type are resized. Others are sent as they are. */
export type PictureType = { type: string; ending: string; made: boolean }

type Row = PictureType & { begins: readonly (readonly [at: number, bytes: string])[] }

/** TABLE types: bytes at their places, in Latin-1. */
const TYPES: readonly Row[] = [
  { type: 'image/jpeg', ending: 'jpg', made: true, begins: [[0, '\xff\xd8\xff']] },
  { type: 'image/png', ending: 'png', made: true, begins: [[0, '\x89PNG\r\n\x1a\n']] },
  { type: 'image/gif', ending: 'gif', made: true, begins: [[0, 'GIF8']] },
  {
    type: 'image/webp',
    ending: 'webp',
    made: true,
    begins: [
      [0, 'RIFF'],
      [8, 'WEBP'],
    ],
  },
  { type: 'image/avif', ending: 'avif', made: true, begins: [[4, 'ftypavif']] },
  { type: 'image/tiff', ending: 'tiff', made: true, begins: [[0, 'II*\0']] },
  { type: 'image/tiff', ending: 'tiff', made: true, begins: [[0, 'MM\0*']] },
  { type: 'image/heic', ending: 'heic', made: false, begins: [[4, 'ftypheic']] },
  { type: 'image/jxl', ending: 'jxl', made: false, begins: [[0, '\xff\x0a']] },
  { type: 'image/jxl', ending: 'jxl', made: false, begins: [[0, '\0\0\0\x0cJXL \r\n\x87\n']] },
  { type: 'image/x-icon', ending: 'ico', made: false, begins: [[0, '\0\0\x01\0']] },
  { type: 'image/bmp', ending: 'bmp', made: false, begins: [[0, 'BM']] },
  { type: 'image/svg+xml', ending: 'svg', made: false, begins: [[0, '<svg']] },
  { type: 'image/svg+xml', ending: 'svg', made: false, begins: [[0, '<?xml']] },
]

const LONGEST = 32

/** Returns the type of a picture, or undefined for anything else. Pure. */
export function pictureTypeOf(bytes: Uint8Array): PictureType | undefined {
  const start = Buffer.from(bytes.subarray(0, LONGEST)).toString('latin1')
  return TYPES.find(({ begins }) => begins.every(([at, text]) => start.startsWith(text, at)))
}

/** Returns whether a picture is a document with scripts. Pure. */
export function isSvg({ ending }: PictureType): boolean {
  return ending === 'svg'
}
