/** The exit status of the tool `crash` of the server over stdio. */
export const crashStatus = 70
