# What `cmake --install` puts where, and the two Debian packages of `cpack`: the controller (fleetmark) and what a measured host
# needs (fleetmark-host). Manual page and completions come from the program's own tables; without scdoc there is no page.
include(GNUInstallDirs)

install(TARGETS fleetmark RUNTIME DESTINATION bin COMPONENT controller)
install(DIRECTORY algos kat agent protocol DESTINATION share/fleetmark COMPONENT controller)
install(FILES inventory/example.ini README.md LICENSE DESTINATION share/doc/fleetmark COMPONENT controller)
install(PROGRAMS deploy/verify-tree.sh DESTINATION share/fleetmark/verify COMPONENT controller)
install(FILES deploy/verify-bundle.awk deploy/verify-forms.jq DESTINATION share/fleetmark/verify COMPONENT controller)

find_program(SCDOC scdoc)
set(MADE ${CMAKE_BINARY_DIR}/made)
file(MAKE_DIRECTORY ${MADE})
add_custom_command(OUTPUT ${MADE}/fleetmark.bash ${MADE}/_fleetmark ${MADE}/fleetmark.1.scd
	COMMAND $<TARGET_FILE:fleetmark> help bash > ${MADE}/fleetmark.bash
	COMMAND $<TARGET_FILE:fleetmark> help zsh > ${MADE}/_fleetmark
	COMMAND $<TARGET_FILE:fleetmark> help man > ${MADE}/fleetmark.1.scd
	DEPENDS fleetmark VERBATIM)
set(PAGES)
if(SCDOC)
	add_custom_command(OUTPUT ${MADE}/fleetmark.1 COMMAND ${SCDOC} < ${MADE}/fleetmark.1.scd > ${MADE}/fleetmark.1
		DEPENDS ${MADE}/fleetmark.1.scd)
	add_custom_command(OUTPUT ${MADE}/fleetmark-setup-host.8
		COMMAND ${SCDOC} < ${CMAKE_SOURCE_DIR}/deploy/fleetmark-setup-host.8.scd > ${MADE}/fleetmark-setup-host.8
		DEPENDS deploy/fleetmark-setup-host.8.scd)
	set(PAGES ${MADE}/fleetmark.1 ${MADE}/fleetmark-setup-host.8)
	install(FILES ${MADE}/fleetmark.1 DESTINATION share/man/man1 COMPONENT controller)
	install(FILES ${MADE}/fleetmark-setup-host.8 DESTINATION share/man/man8 COMPONENT host)
else()
	message(STATUS "scdoc is not there: no manual pages")
endif()
add_custom_target(made ALL DEPENDS ${MADE}/fleetmark.bash ${PAGES})
install(FILES ${MADE}/fleetmark.bash DESTINATION share/bash-completion/completions RENAME fleetmark COMPONENT controller)
install(FILES ${MADE}/_fleetmark DESTINATION share/zsh/site-functions COMPONENT controller)

install(PROGRAMS deploy/setup-host.sh DESTINATION sbin RENAME fleetmark-setup-host COMPONENT host)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fleetmark)
set(CPACK_PACKAGE_CONTACT "the authors of Fleetmark <nobody@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmark campaigns for cryptographic submissions over a fleet of machines")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL controller host)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_NAME fleetmark)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_DEPENDS "openssh-client")
set(CPACK_DEBIAN_CONTROLLER_PACKAGE_SUGGESTS "gcc, libsodium-dev, jq")
set(CPACK_DEBIAN_HOST_PACKAGE_NAME fleetmark-host)
set(CPACK_DEBIAN_HOST_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_HOST_PACKAGE_DEPENDS "openssh-server, gcc, libc6-dev, libsodium-dev, tar, coreutils, findutils")
set(CPACK_COMPONENT_CONTROLLER_DESCRIPTION "The controller: plans, pushes, collects, verifies, reports.")
set(CPACK_COMPONENT_HOST_DESCRIPTION "What a measured machine needs; the agent itself is pushed and built there by the controller.")
include(CPack)
