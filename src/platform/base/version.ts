import { shippedFile } from './shipped-files.ts'

export const VERSION = (JSON.parse(shippedFile('package')) as { version: string }).version
