/** Hears how far long work is: which part of it, how much is done, of how much. */
export type Progress = (part: 'copy' | 'check', done: number, total: number) => void
