/** Receives the progress of long work: its part, and how much of the total is done. */
export type Progress = (part: 'copy' | 'check', done: number, total: number) => void
