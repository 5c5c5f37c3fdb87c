/** The theme: that of VitePress, with the fonts of the reader's system, so that a page loads none. */
import DefaultTheme from "vitepress/theme-without-fonts"

export default DefaultTheme
