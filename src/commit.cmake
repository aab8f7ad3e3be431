# Sets `commit` to the commit of these sources: what git says, with -dirty behind it where tracked files differ; without
# git what a source distribution has in src/commit.txt; "unknown" without either.
#
#   cmake -DTEMPLATE=file.in -DTO=file -P src/commit.cmake     writes the file, if that changes it
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(commit "")
if(EXISTS ${root}/.git)  # not one above it: a distribution may be unpacked within another repository
  execute_process(COMMAND git -c safe.directory=${root} describe --always --abbrev=40 --exclude=* --dirty
                  WORKING_DIRECTORY ${root} OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
elseif(EXISTS ${root}/src/commit.txt)
  file(STRINGS ${root}/src/commit.txt commit LIMIT_COUNT 1)
endif()
if(NOT commit)
  set(commit unknown)
endif()
if(TO)
  configure_file(${TEMPLATE} ${TO} @ONLY)
endif()
